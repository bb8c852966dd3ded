//! The idle floor of each load cycle: what is still in use when nothing is due.

use evidence::{Coverage, Instant, Window};

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

/// A phase in which nothing is due.
#[derive(Debug, Clone, Copy)]
pub(super) struct IdlePhase {
    pub(super) window: Window,
}

impl IdlePhase {
    fn end_s(&self) -> f64 {
        self.window.end.offset().as_secs_f64()
    }
}

/// The floor of each idle phase; where `collections` are given, after the first of them in the phase. None when a phase
/// has no floor.
pub(super) fn floors(
    samples: &Coverage,
    idle: &[IdlePhase],
    collections: Option<&Collections>,
) -> Option<Vec<f64>> {
    let floor_of = |&IdlePhase { window }: &IdlePhase| {
        let collected = match collections {
            Some(collections) => collections.first_after(window)?,
            None => window.begin,
        };
        let at_end = window.end.since(window.begin).mul_f64(FLOOR_SHARE);
        let floor_begin = Instant::at(window.end.offset().saturating_sub(at_end));
        lowest(samples, Window { begin: collected.max(floor_begin), end: window.end })
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

/// The lowest value in a window.
fn lowest(samples: &Coverage, window: Window) -> Option<f64> {
    samples.within(window).iter().map(|sample| sample.value).reduce(f64::min)
}

/// Whether the cycles, from the end of one idle phase to the end of the next, are long enough and equal.
fn are_equal(idle: &[IdlePhase]) -> bool {
    let lengths: Vec<f64> = idle.windows(2).map(|pair| pair[1].end_s() - pair[0].end_s()).collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    lengths.iter().all(|length| *length >= MIN_CYCLE_S && *length >= longest * (1.0 - ALIKE))
}
