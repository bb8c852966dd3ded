//! The idle floor of each load cycle: what is still in use when nothing is due.

use evidence::{Coverage, Instant, Window};

use super::collections::Collections;
use figures::number::brief;

/// The number of load cycles that are needed.
const MIN_CYCLES: usize = 4;
/// The shortest cycle, in seconds.
const MIN_CYCLE_S: f64 = 600.0;
/// A floor must rise by more than this share to count.
const RISE: f64 = 0.01;
/// How many steps must rise, counted from the end.
const STEPS: usize = 3;
/// The second half must rise by at least this share of what the first does, per cycle.
const SUSTAINED: f64 = 0.8;
/// The one-sided level of the test for a rise, over all analysed series of a run.
const ALPHA: f64 = 0.01;
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

/// Why the idle floors of one of `series` analysed series show a leak; none if they do not, or there are too few.
///
/// A straight line through the floors must rise, beyond what their scatter around it explains, at a level of 1 % for all
/// series together; and the second half of the floors must rise nearly as much as the first: what saturates slows down.
pub(super) fn sustained_rise(floors: &[f64], idle: &[IdlePhase], series: usize) -> Option<String> {
    if floors.len() < MIN_CYCLES || !are_equal(idle) {
        return None;
    }
    let last = &floors[floors.len() - STEPS - 1..];
    let rises = last.windows(2).all(|pair| pair[1] - pair[0] > RISE * pair[0].abs());
    let degrees = u32::try_from(floors.len() - 2).unwrap_or(u32::MAX);
    let n = floors.len() as f64;
    let residuals = stats::residuals(floors);
    let scatter = (residuals.iter().map(|r| r * r).sum::<f64>() / f64::from(degrees)).sqrt();
    let middle = (n - 1.0) / 2.0;
    let index_squares = n * (n * n - 1.0) / 12.0;
    let products = floors.iter().enumerate().map(|(at, floor)| (at as f64 - middle) * floor);
    let slope = products.sum::<f64>() / index_squares;
    let level = ALPHA / series.max(1) as f64;
    let is_certain = slope > stats::t_quantile(1.0 - level, degrees) * scatter / index_squares.sqrt();
    (rises && is_certain && is_unabated(floors, stats::t_quantile(0.95, degrees) * scatter)).then(|| {
        let share = (floors[floors.len() - 1] - floors[floors.len() - 2])
            / floors[floors.len() - 2].abs().max(f64::MIN_POSITIVE);
        format!(
            "Its idle floor rose after every one of the last {STEPS} load cycles, by {} in the latest, beyond its scatter and \
             without slowing down. A run at twice the load would show whether it grows by request or by time.",
            brief::percent(share)
        )
    })
}

/// Whether the second half of the floors rises by at least [`SUSTAINED`] of what the first half does, with certainty
/// `error`: the one-sided limit of a single floor's scatter.
fn is_unabated(floors: &[f64], error: f64) -> bool {
    let middle = (floors.len() - 1) / 2;
    let (before, after) = (middle as f64, (floors.len() - 1 - middle) as f64);
    let first = (floors[middle] - floors[0]) / before;
    let second = (floors[floors.len() - 1] - floors[middle]) / after;
    let weights = [1.0 / after, 1.0 / after + SUSTAINED / before, SUSTAINED / before];
    second - SUSTAINED * first > error * weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt()
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
