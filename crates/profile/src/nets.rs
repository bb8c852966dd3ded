//! Whether a function's change is a change, or cost that moved: renames, inlining and moved work change functions
//! without changing what their common caller costs. The idea is the cost shift of FBDetect (SOSP 2024).

use std::collections::HashMap;

use crate::compare::{Measure, Mover, Net, Significance};
use crate::tally::{SamplingError, Tallies, Tally};
use crate::view::{Node, View};

/// A caller counts as a function's own if so much of the function's cost is under it.
const MOST_OF_IT: f64 = 0.9;
/// A caller absorbs a change if its own is at most this part of it.
const ABSORBED: f64 = 0.5;

/// Finds the caller to read each mover under: the nearest that did not move itself, else the nearest.
pub(crate) fn nets<'m>(
    measure: &Measure,
    views: [&View<'_>; 2],
    tallies: &[Tallies; 2],
    movers: impl Iterator<Item = &'m mut Mover>,
) {
    let mut movers: Vec<&mut Mover> =
        movers.filter(|mover| mover.change.significance.is_difference()).collect();
    let places: HashMap<String, usize> =
        movers.iter().enumerate().map(|(place, mover)| (mover.name.clone(), place)).collect();
    let under = [0, 1].map(|side: usize| callers(views[side], &places));
    let by_name = [0, 1].map(|side: usize| names(views[side], &tallies[side]));
    for (place, mover) in movers.iter_mut().enumerate() {
        let mut nets: Vec<Net> = common(&under, place, mover)
            .into_iter()
            .map(|caller| {
                let values = [0, 1].map(|side: usize| {
                    let tally = by_name[side].get(caller).copied().unwrap_or_default();
                    (tally.cumulative, tally.cumulative_error)
                });
                net(caller, measure, &values, mover)
            })
            .collect();
        let size = |net: &Net| net.change.base.measure.abs().max(net.change.new.measure.abs());
        nets.sort_by(|left, right| {
            let nearest = size(left).total_cmp(&size(right));
            // Of callers that cost the same the deepest comes first, because the order is kept.
            right.is_shift.cmp(&left.is_shift).then(nearest)
        });
        mover.under = nets.into_iter().next();
    }
}

fn net(caller: &str, measure: &Measure, values: &[(i64, SamplingError); 2], mover: &Mover) -> Net {
    let change = measure.change(values);
    let is_still = !change.significance.is_difference() || change.significance == Significance::Counted;
    let is_small = change.difference.abs() <= ABSORBED * mover.change.difference.abs();
    Net { caller: caller.to_owned(), change, is_shift: is_still && is_small }
}

/// By mover and caller: how much of the mover's flat value is under the caller, and how deep in stacks the caller is.
type Under<'v> = Vec<HashMap<&'v str, (i64, usize)>>;

fn callers<'v>(view: &'v View<'_>, places: &HashMap<String, usize>) -> Under<'v> {
    let mut under: Under<'v> = vec![HashMap::new(); places.len()];
    let wanted: Vec<Option<usize>> = (0..view.node_count())
        .map(|node| places.get(view.name(Node(u32::try_from(node).unwrap_or(u32::MAX)))).copied())
        .collect();
    let mut met = vec![0_usize; view.node_count()];
    for (number, stack) in (1..).zip(view.stacks()) {
        let Some(leaf) = view.leaf(&stack) else { continue };
        let Some(place) = wanted[leaf.0 as usize] else { continue };
        for (depth, frame) in view.frames(&stack).enumerate() {
            let seen = &mut met[frame.0 as usize];
            if *seen != number && frame != leaf {
                *seen = number;
                let (sum, deepest) = under[place].entry(view.name(frame)).or_default();
                *sum = sum.saturating_add(stack.value);
                *deepest = depth.max(*deepest);
            }
        }
    }
    under
}

fn names<'v>(view: &'v View<'_>, tallies: &Tallies) -> HashMap<&'v str, Tally> {
    (0..).zip(&tallies.nodes).map(|(node, tally)| (view.name(Node(node)), *tally)).collect()
}

/// The callers that hold most of the mover's cost on each side that has any, the deepest first.
fn common<'v>(under: &[Under<'v>; 2], place: usize, mover: &Mover) -> Vec<&'v str> {
    let flats = [mover.change.base.value, mover.change.new.value];
    let holds = |side: usize, caller: &str| {
        let held = under[side][place].get(caller).map_or(0, |(held, _)| *held);
        flats[side] == 0 || held as f64 / flats[side] as f64 >= MOST_OF_IT
    };
    let mut callers: Vec<&str> = under.iter().flat_map(|side| side[place].keys().copied()).collect();
    callers.sort_unstable();
    callers.dedup();
    callers.retain(|caller| holds(0, caller) && holds(1, caller));
    let depth = |caller: &str| under.iter().filter_map(|side| Some(side[place].get(caller)?.1)).max();
    callers.sort_by_key(|caller| std::cmp::Reverse(depth(caller)));
    callers
}
