//! The baseline of a differential flame graph: the difference of each call decides its colour.

use std::collections::HashMap;

use ::profile::{CallTree, TreeNode};

use super::super::amount;
use crate::number;

/// The shares of the whole from which a difference has the first, second, third and fourth shade.
const SHADES: [f64; 4] = [0.002, 0.01, 0.04, 0.12];

/// A baseline for comparison with a flame graph.
#[derive(Debug, Clone, Copy)]
pub struct FlameBaseline<'t> {
    /// The baseline's calls.
    pub tree: &'t CallTree,
    /// Successful requests while each profile was taken, the baseline's first; without them shares are compared.
    pub requests: Option<(u64, u64)>,
}

/// A call, and the same call of the baseline if there is one.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallPair<'n, 't> {
    pub(super) node: &'n TreeNode,
    pub(super) base: Option<&'t TreeNode>,
}

/// The cost of a call in the baseline and in the new profile: per request, or as a share of the whole.
struct CostPair {
    base: f64,
    new: f64,
}

impl<'t> FlameBaseline<'t> {
    /// The baseline's calls under a caller, by function name.
    pub(super) fn children(&self, parent: Option<&'t TreeNode>) -> HashMap<&'t str, &'t TreeNode> {
        let children = parent.into_iter().flat_map(|parent| self.tree.children(parent));
        children.map(|child| (self.tree.name(child), child)).collect()
    }

    /// The costs of a call; `whole` is the root of the new profile.
    fn costs(&self, whole: &TreeNode, call: CallPair<'_, 't>) -> CostPair {
        let base = call.base.map_or(0, |base| base.value) as f64;
        let (base_divisor, new_divisor) = match self.requests {
            Some((base, new)) => (base as f64, new as f64),
            None => (self.tree.root().value as f64, whole.value as f64),
        };
        CostPair { base: base / base_divisor.max(1.0), new: call.node.value as f64 / new_divisor.max(1.0) }
    }

    /// The class of a call's box: `more1` to `more4`, `less1` to `less4`, or `same`.
    pub(super) fn class(&self, whole: &TreeNode, call: CallPair<'_, 't>) -> String {
        let cost = self.costs(whole, call);
        let total = self.costs(whole, CallPair { node: whole, base: Some(self.tree.root()) });
        let part = (cost.new - cost.base) / total.base.max(total.new).max(f64::MIN_POSITIVE);
        match SHADES.iter().filter(|shade| part.abs() >= **shade).count() {
            0 => "same".to_owned(),
            shade => format!("{}{shade}", if part > 0.0 { "more" } else { "less" }),
        }
    }

    /// The new cost, the baseline's cost, and the difference, as text.
    pub(super) fn text(&self, whole: &TreeNode, call: CallPair<'_, 't>) -> String {
        let CostPair { base, new } = self.costs(whole, call);
        let sign = if new > base { "+" } else { "" };
        match self.requests {
            Some(_) => {
                let cost = |value: f64| amount(value, &self.tree.sample_type);
                format!("{} per request, before {}: {sign}{}", cost(new), cost(base), cost(new - base))
            }
            None => {
                let points = number::significant((new - base) * 100.0, 3);
                let share = |value: f64| number::percent(value, 1.0);
                format!("{}, before {}: {sign}{points} points", share(new), share(base))
            }
        }
    }
}
