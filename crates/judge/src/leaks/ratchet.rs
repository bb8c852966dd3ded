//! The idle floor of each load cycle: what is still held when nothing is due.

use evidence::Sample;

use super::collections::Collections;
use crate::words;

/// Load cycles that are needed.
const MIN_CYCLES: usize = 4;
/// The shortest cycle, in seconds.
const MIN_CYCLE_S: f64 = 600.0;
/// A floor must rise by more than this share to count.
const RISE: f64 = 0.01;
/// How many steps must rise, counted from the end.
const STEPS: usize = 3;
/// The last step must be at least this share of the first.
const SUSTAINED: f64 = 0.5;
/// What of an idle phase is its floor: its end, when collections have had their time.
const FLOOR_SHARE: f64 = 0.5;
/// Cycles may differ in length by this share and still be equal.
const ALIKE: f64 = 0.1;

/// The floor of each idle phase, where `collections` are given after the first one in it. None when a phase has none.
pub(super) fn floors(
    samples: &[Sample],
    idle: &[(f64, f64)],
    collections: Option<&Collections>,
) -> Option<Vec<f64>> {
    let floor_of = |&(start, end): &(f64, f64)| {
        let collected = match collections {
            Some(collections) => collections.first_after(start, end)?,
            None => start,
        };
        floor(samples, (collected.max(end - (end - start) * FLOOR_SHARE), end))
    };
    idle.iter().map(floor_of).collect()
}

/// Why the idle floors show a leak; none if they do not, or there are too few.
pub(super) fn leak(floors: &[f64], idle: &[(f64, f64)]) -> Option<String> {
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
            "Its idle floor rose after every one of the last {STEPS} load cycles, by {} in the latest: nothing gives it \
             back. Whether it grows by request or by time, twice the load would tell.",
            words::percent(share)
        )
    })
}

/// The lowest value between two seconds.
fn floor(samples: &[Sample], (from, end): (f64, f64)) -> Option<f64> {
    let inside = samples.iter().filter(|sample| {
        let at = sample.at.offset().as_secs_f64();
        from <= at && at <= end
    });
    inside.map(|sample| sample.value).reduce(f64::min)
}

/// Whether the cycles, from one idle phase's end to the next one's, are long enough and alike.
fn are_equal(idle: &[(f64, f64)]) -> bool {
    let lengths: Vec<f64> = idle.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let longest = lengths.iter().copied().fold(0.0, f64::max);
    lengths.iter().all(|length| *length >= MIN_CYCLE_S && *length >= longest * (1.0 - ALIKE))
}
