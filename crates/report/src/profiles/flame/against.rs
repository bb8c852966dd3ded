//! What a flame graph is held against: the same calls in a baseline, for the colours of a differential one.

use std::collections::HashMap;

use ::profile::{CallTree, TreeNode};

use super::super::{amount, percent};
use crate::number;

/// From which part of the whole on a difference has the first, second, third and fourth shade.
const SHADES: [f64; 4] = [0.002, 0.01, 0.04, 0.12];

/// A baseline, and what both are measured by.
#[derive(Debug, Clone, Copy)]
pub struct Against<'t> {
    /// The baseline's calls.
    pub tree: &'t CallTree,
    /// Successful requests while each was taken, the baseline's first; without them shares are compared.
    pub requests: Option<(u64, u64)>,
}

impl<'t> Against<'t> {
    /// The baseline's calls under the same callers, by their functions.
    pub(super) fn children(&self, parent: Option<&'t TreeNode>) -> HashMap<&'t str, &'t TreeNode> {
        let children = parent.into_iter().flat_map(|parent| self.tree.children(parent));
        children.map(|child| (self.tree.name(child), child)).collect()
    }

    /// What a call costs in the baseline and now: for each request, or as a share of the whole.
    fn measures(&self, whole: &TreeNode, (base, new): (Option<&TreeNode>, &TreeNode)) -> (f64, f64) {
        let base = base.map_or(0, |base| base.value) as f64;
        let (of_base, of_new) = match self.requests {
            Some((base, new)) => (base as f64, new as f64),
            None => (self.tree.root().value as f64, whole.value as f64),
        };
        (base / of_base.max(1.0), new.value as f64 / of_new.max(1.0))
    }

    /// The class of a call's box: `more1` to `more4`, `less1` to `less4`, or `same`.
    pub(super) fn class(&self, whole: &TreeNode, pair: (Option<&TreeNode>, &TreeNode)) -> String {
        let (base, new) = self.measures(whole, pair);
        let (base_whole, new_whole) = self.measures(whole, (Some(self.tree.root()), whole));
        let part = (new - base) / base_whole.max(new_whole).max(f64::MIN_POSITIVE);
        match SHADES.iter().filter(|shade| part.abs() >= **shade).count() {
            0 => "same".to_owned(),
            shade => format!("{}{shade}", if part > 0.0 { "more" } else { "less" }),
        }
    }

    /// What it costs, what it did cost, and the difference.
    pub(super) fn words(&self, whole: &TreeNode, pair: (Option<&TreeNode>, &TreeNode)) -> String {
        let (base, new) = self.measures(whole, pair);
        let sign = if new > base { "+" } else { "" };
        match self.requests {
            Some(_) => {
                let cost = |value: f64| amount(value, &self.tree.sample_type);
                format!("{} a request, before {}: {sign}{}", cost(new), cost(base), cost(new - base))
            }
            None => {
                let points = number::significant((new - base) * 100.0, 3);
                format!("{}, before {}: {sign}{points} points", percent(new, 1.0), percent(base, 1.0))
            }
        }
    }
}
