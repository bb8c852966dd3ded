//! Where a series reaches steady state: the warm-up is separated from the steady part, and series without a steady part
//! are refused.
//!
//! Values are one a second and are logarithms, so that differences are shares. The order is: outliers are replaced
//! ([`clean`]), seconds are joined into batches of 5 s or of one period of a periodic series ([`clean`]), batches are cut
//! into segments of one level each ([`segments`]), and the last segment with those before it of the same level is the
//! steady part. It must be long enough and must not drift ([`crate::line`]). [`mser`] is another method for the same
//! question, to be shown beside it.

mod clean;
mod mser;
mod segments;

use crate::line;

use clean::Batches;
pub use mser::mser_5;
use segments::{Noise, Segment};

/// The shortest steady part, in seconds.
pub const MIN_STEADY_S: usize = 60;
/// The smallest share of all values that must be steady.
const MIN_SHARE: f64 = 0.5;
/// Levels no further apart than this, as a share, count as equal.
const DELTA: f64 = 0.05;
/// A drift over the steady part from this share on is refused …
const DRIFT: f64 = 0.05;
/// … where one of no more than this is excluded.
const DRIFT_EXCLUDED: f64 = 0.02;
/// So many reversals of direction are an oscillation.
const REVERSALS: usize = 2;
/// So many steps in one direction are a drift.
const STEPS: usize = 3;

/// A series with a steady part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// The index of the first value of the steady part, in seconds. It extends to the end.
    pub start_s: usize,
    /// How much it rises over the steady part, as a difference of logarithms.
    pub drift: f64,
}

/// Why a series shows no steady state. Changes are differences of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NotSteady {
    /// The steady part is shorter than [`MIN_STEADY_S`].
    TooShort {
        /// Its length, in seconds.
        steady_s: usize,
    },
    /// It rises or falls all the time.
    Drift {
        /// By how much, over the steady part or from the first segment to the last.
        change: f64,
    },
    /// Its level changes too late for a warm-up.
    RegimeChange {
        /// When, in seconds.
        at_s: usize,
        /// By how much.
        change: f64,
    },
    /// Whether it drifts is not known: too few independent batches.
    Unknown {
        /// How many batches the part has that may be steady.
        batches: usize,
        /// How long a series like it would be to know, in seconds, about.
        needed_s: usize,
    },
    /// Its level goes up and down.
    Oscillation {
        /// How many times its level changes.
        changes: usize,
    },
}

/// Where `values`, one a second and on a logarithmic scale, reach steady state.
///
/// The segments are those of least squared error with a penalty of 30 noise variances for each (B. Jackson and others,
/// "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12, 2005); the walk
/// back from the last of them follows E. Barrett and others, "Virtual machine warmup blows hot and cold", OOPSLA 2017.
/// Values that are not finite are left out of their batch.
///
/// A slow approach within 5 % of the final level is not detected, nor is a period longer than the series.
///
/// ```
/// let warming_up: Vec<f64> = (0..120).map(|second| if second < 20 { 1.0 } else { 0.0 }).collect();
/// assert_eq!(stats::steady(&warming_up).map(|steady| steady.start_s), Ok(20));
/// ```
///
/// # Errors
/// [`NotSteady`] when there is no steady part, or it is too short.
pub fn steady(values: &[f64]) -> Result<Steady, NotSteady> {
    if values.len() < MIN_STEADY_S {
        return Err(NotSteady::TooShort { steady_s: values.len() });
    }
    let batches = Batches::of(values);
    let segments = segments::of(&batches, Noise::Independent);
    let is_short = |start_s: usize| ((values.len() - start_s) as f64) < MIN_SHARE * values.len() as f64;
    let mut start_s = start_of_last_level(&segments, &batches);
    let is_wandering = is_short(start_s);
    if is_wandering {
        // Noise that wanders looks like a level that changes.
        start_s = start_of_last_level(&segments::of(&batches, Noise::Correlated), &batches);
    }
    if is_short(start_s) {
        return Err(reason(&segments, &batches));
    }
    let length_s = values.len() - start_s;
    if length_s < MIN_STEADY_S {
        return Err(NotSteady::TooShort { steady_s: length_s });
    }
    let parts = &batches.means[start_s / batches.width_s..];
    let rise = line::rise(parts);
    let is_large = rise.change.abs() >= DRIFT;
    if is_large && rise.change.abs() - rise.half_width > DRIFT_EXCLUDED {
        return Err(NotSteady::Drift { change: rise.change });
    }
    if is_large || is_wandering || rise.half_width.is_infinite() {
        // The error of a rise falls with the root of the time.
        let too_wide = (rise.half_width / (DRIFT - DRIFT_EXCLUDED)).powi(2);
        let longer = if too_wide.is_finite() { too_wide.max(2.0) } else { 4.0 };
        let needed_s = (values.len() as f64 * longer).ceil() as usize;
        return Err(NotSteady::Unknown { batches: parts.len(), needed_s });
    }
    Ok(Steady { start_s, drift: rise.change })
}

/// Where the segments begin that have the level of the last one, in seconds.
fn start_of_last_level(segments: &[Segment], batches: &Batches) -> usize {
    let Some(last) = segments.last() else { return 0 };
    let other = segments.iter().rposition(|segment| (segment.level - last.level).abs() > DELTA);
    let first = other.map_or(0, |other| other + 1);
    segments.get(first).map_or(0, |segment| segment.from) * batches.width_s
}

/// Why a series whose level changed too late is not steady.
fn reason(segments: &[Segment], batches: &Batches) -> NotSteady {
    let steps: Vec<(usize, f64)> = segments
        .windows(2)
        .map(|pair| (pair[1].from * batches.width_s, pair[1].level - pair[0].level))
        .filter(|(_, change)| change.abs() > DELTA)
        .collect();
    let reversals = steps.windows(2).filter(|pair| pair[0].1.signum() != pair[1].1.signum()).count();
    let whole = match (segments.first(), segments.last()) {
        (Some(first), Some(last)) => last.level - first.level,
        _ => 0.0,
    };
    match steps.last() {
        Some(_) if reversals >= REVERSALS => NotSteady::Oscillation { changes: steps.len() },
        Some(_) if reversals == 0 && steps.len() >= STEPS => NotSteady::Drift { change: whole },
        Some((at_s, change)) => NotSteady::RegimeChange { at_s: *at_s, change: *change },
        // Many small steps, each between levels that count as equal.
        None => NotSteady::Drift { change: whole },
    }
}

#[cfg(test)]
mod tests;
