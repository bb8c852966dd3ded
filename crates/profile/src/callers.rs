//! Whether the cost of a function changed or only moved: renaming, inlining and moved work change functions without
//! changing the cost of their common caller. The idea is the cost shift of FBDetect (SOSP 2024).

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::comparison::{CallerChange, Mover, Significance};
use crate::measure::{Measure, SampledValue};
use crate::tally::{Tallies, Tally};
use crate::view::{Node, View};

/// At least this share of a function's cost must be under a caller, on both sides.
const MIN_SHARE_UNDER: f64 = 0.9;
/// A caller absorbs a change if its own change is at most this part of it.
const ABSORBED: f64 = 0.5;

/// Finds the caller to read each mover under: the nearest that did not change itself, else the nearest.
pub(crate) fn find_callers<'m>(
    measure: &Measure,
    views: [&View<'_>; 2],
    tallies: &[Tallies; 2],
    movers: impl Iterator<Item = &'m mut Mover>,
) {
    let mut movers: Vec<&mut Mover> =
        movers.filter(|mover| mover.change.significance.is_difference()).collect();
    let indices: HashMap<String, usize> =
        movers.iter().enumerate().map(|(index, mover)| (mover.name.clone(), index)).collect();
    let costs = [0, 1].map(|side: usize| costs_under_callers(views[side], &indices));
    let by_name = [0, 1].map(|side: usize| tallies_by_name(views[side], &tallies[side]));
    for (index, mover) in movers.iter_mut().enumerate() {
        let caller_change = |caller: &str| {
            let values = [0, 1].map(|side: usize| {
                let tally = by_name[side].get(caller).copied().unwrap_or_default();
                SampledValue { value: tally.cumulative, error: tally.cumulative_error }
            });
            caller_change(caller, measure, &values, mover)
        };
        let callers = common_callers([&costs[0][index], &costs[1][index]], mover);
        let mut changes: Vec<CallerChange> = callers.into_iter().map(caller_change).collect();
        let size =
            |caller: &CallerChange| caller.change.base.measure.abs().max(caller.change.new.measure.abs());
        changes.sort_by(|left, right| {
            let nearest = size(left).total_cmp(&size(right));
            // Of callers with the same cost the deepest comes first, because the sort is stable.
            right.is_shift.cmp(&left.is_shift).then(nearest)
        });
        mover.under = changes.into_iter().next();
    }
}

fn caller_change(caller: &str, measure: &Measure, values: &[SampledValue; 2], mover: &Mover) -> CallerChange {
    let change = measure.change(values);
    let is_unchanged = !change.significance.is_difference() || change.significance == Significance::Counted;
    let is_small = change.difference.abs() <= ABSORBED * mover.change.difference.abs();
    CallerChange { caller: caller.to_owned(), change, is_shift: is_unchanged && is_small }
}

/// The part of a function's flat value that is under a caller.
#[derive(Debug, Clone, Copy, Default)]
struct CostUnder {
    value: i64,
    /// The depth of the caller in stacks, at most.
    depth: usize,
}

type CallerCosts<'v> = HashMap<&'v str, CostUnder>;

/// For each mover its costs by caller.
fn costs_under_callers<'v>(view: &'v View<'_>, indices: &HashMap<String, usize>) -> Vec<CallerCosts<'v>> {
    let mut costs: Vec<CallerCosts<'v>> = vec![HashMap::new(); indices.len()];
    let movers: Vec<Option<usize>> = (0..view.node_count())
        .map(|node| indices.get(view.name(Node(u32::try_from(node).unwrap_or(u32::MAX)))).copied())
        .collect();
    let mut last_stack = vec![0_usize; view.node_count()];
    for (number, stack) in (1..).zip(view.stacks()) {
        let Some(leaf) = view.leaf(&stack) else { continue };
        let Some(mover) = movers[leaf.0 as usize] else { continue };
        for (depth, frame) in view.frames(&stack).enumerate() {
            let last = &mut last_stack[frame.0 as usize];
            if *last != number && frame != leaf {
                *last = number;
                let cost = costs[mover].entry(view.name(frame)).or_default();
                cost.value = cost.value.saturating_add(stack.value);
                cost.depth = depth.max(cost.depth);
            }
        }
    }
    costs
}

fn tallies_by_name<'v>(view: &'v View<'_>, tallies: &Tallies) -> HashMap<&'v str, Tally> {
    (0..).zip(&tallies.nodes).map(|(node, tally)| (view.name(Node(node)), *tally)).collect()
}

/// The callers that most of the mover's cost is under on each side that has any, the deepest first.
fn common_callers<'v>(costs: [&CallerCosts<'v>; 2], mover: &Mover) -> Vec<&'v str> {
    let flats = [mover.change.base.value, mover.change.new.value];
    let has_most = |side: usize, caller: &str| {
        let under = costs[side].get(caller).map_or(0, |cost| cost.value);
        flats[side] == 0 || under as f64 / flats[side] as f64 >= MIN_SHARE_UNDER
    };
    let mut callers: Vec<&str> = costs.iter().flat_map(|side| side.keys().copied()).collect();
    callers.sort_unstable();
    callers.dedup();
    callers.retain(|caller| has_most(0, caller) && has_most(1, caller));
    let depth = |caller: &str| costs.iter().filter_map(|side| Some(side.get(caller)?.depth)).max();
    callers.sort_by_key(|caller| Reverse(depth(caller)));
    callers
}
