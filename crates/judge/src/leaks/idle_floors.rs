//! The idle floor of each load cycle: what is still in use when nothing is due.

use evidence::Sample;

use super::collections::Collections;
use crate::numbers;

/// The number of load cycles that are needed.
const MIN_CYCLES: usize = 4;
/// The shortest cycle, in seconds.
const MIN_CYCLE_S: f64 = 600.0;
/// A floor must rise by more than this share to count.
const RISE: f64 = 0.01;
/// How many steps must rise, counted from the end.
const STEPS: usize = 3;
/// The last step must be at least this share of the first.
const SUSTAINED: f64 = 0.5;
/// The floor is looked for in this share of an idle phase, at its end.
const FLOOR_SHARE: f64 = 0.5;
/// Cycles whose lengths differ by no more than this share are equal.
const ALIKE: f64 = 0.1;

/// A phase in which nothing is due, in seconds of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdlePhase {
    pub(super) start_s: f64,
    pub(super) end_s: f64,
}

/// The floor of each idle phase; where `collections` are given, after the first of them in the phase. None when a phase
/// has no floor.
pub(super) fn floors(
    samples: &[Sample],
    idle: &[IdlePhase],
    collections: Option<&Collections>,
) -> Option<Vec<f64>> {
    let floor_of = |&IdlePhase { start_s, end_s }: &IdlePhase| {
        let collected_s = match collections {
            Some(collections) => collections.first_after(start_s, end_s)?,
            None => start_s,
        };
        lowest(samples, collected_s.max(end_s - (end_s - start_s) * FLOOR_SHARE), end_s)
    };
    idle.iter().map(floor_of).collect()
}

/// Why the idle floors show a leak; none if they do not, or there are too few.
pub(super) fn sustained_rise(floors: &[f64], idle: &[IdlePhase]) -> Option<String> {
    if floors.len() < MIN_CYCLES || !are_equal(idle) {
        return None;
    }
    let steps: Vec<f64> = floors.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let last = &floors[floors.len() - STEPS - 1..];
    let rises = last.windows(2).all(|pair| pair[1] - pair[0] > RISE * pair[0].abs());
    let (first, latest) = (steps[steps.len() - STEPS], steps[steps.len() - 1]);
    (rises && latest >= SUSTAINED * first).then(|| {
        let share = latest / floors[floors.len() - 2].abs().max(f64::MIN_POSITIVE);
        format!(
            "Its idle floor rose after every one of the last {STEPS} load cycles, by {} in the latest, and never fell \
             back. A run at twice the load would show whether it grows by request or by time.",
            numbers::percent(share)
        )
    })
}

/// The lowest value between two seconds.
fn lowest(samples: &[Sample], from_s: f64, end_s: f64) -> Option<f64> {
    let inside = samples.iter().filter(|sample| {
        let at_s = sample.at.offset().as_secs_f64();
        from_s <= at_s && at_s <= end_s
    });
    inside.map(|sample| sample.value).reduce(f64::min)
}

/// Whether the cycles, from the end of one idle phase to the end of the next, are long enough and equal.
fn are_equal(idle: &[IdlePhase]) -> bool {
    let lengths: Vec<f64> = idle.windows(2).map(|pair| pair[1].end_s - pair[0].end_s).collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    lengths.iter().all(|length| *length >= MIN_CYCLE_S && *length >= longest * (1.0 - ALIKE))
}
