//! Where a series settles, if it does: warm-up told from steady state, and series that never settle refused.
//!
//! Values are one a second and are logarithms, so that differences are shares. The order is: outliers are marked
//! ([`clean`]), seconds joined into batches of 5 s or of one period of what recurs ([`clean`]), batches cut into
//! segments of one level each ([`segments`]), and from the last segment back those of its level are the steady part.
//! What is left must be long enough and must not rise or fall ([`line`]). [`mser`] is another view of the same
//! question, to be shown beside it.

mod clean;
mod line;
mod mser;
mod segments;

pub use mser::mser_5;

use clean::Batches;
use segments::Segment;

/// The shortest steady part, in seconds.
pub const MIN_STEADY_S: usize = 60;
/// The smallest share of all values that must be steady.
const MIN_SHARE: f64 = 0.5;
/// Levels this far apart, as a share, are alike.
const DELTA: f64 = 0.05;
/// A drift over the steady part from this share on is refused …
const DRIFT: f64 = 0.05;
/// … where one of no more than this is excluded.
const DRIFT_EXCLUDED: f64 = 0.02;
/// So many turns of a series up and down are an oscillation.
const TURNS: usize = 2;
/// So many steps in one direction are a drift.
const STEPS: usize = 3;

/// A series that settles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// Where the steady part begins: the place of its first value, in seconds. It goes on to the end.
    pub start_s: usize,
    /// How much it rises over the steady part, as a difference of logarithms.
    pub drift: f64,
}

/// Why a series shows no steady state. Changes are differences of logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NotSteady {
    /// What is steady is shorter than [`MIN_STEADY_S`].
    TooShort {
        /// How long it is, in seconds.
        steady_s: usize,
    },
    /// It rises or falls all the time.
    Drift {
        /// By how much, over the steady part or from the first segment to the last.
        change: f64,
    },
    /// It has another level from somewhere on, too late to be a warm-up.
    RegimeChange {
        /// Where, in seconds.
        at_s: usize,
        /// By how much.
        change: f64,
    },
    /// It goes up and down.
    Oscillation {
        /// How many times its level changes.
        changes: usize,
    },
}

/// Where `values`, one a second and on a logarithmic scale, settle.
///
/// The segments are those of least squared error with a penalty of 30 noise variances for each (B. Jackson and others,
/// "An algorithm for optimal partitioning of data on an interval", IEEE Signal Processing Letters 12, 2005); the walk
/// back from the last of them follows E. Barrett and others, "Virtual machine warmup blows hot and cold", OOPSLA 2017.
/// Values that are not finite are left out of their batch.
///
/// A slow tail hides within 5 %, and whatever comes back more rarely than the series is long cannot be seen.
///
/// ```
/// let settles: Vec<f64> = (0..120).map(|second| if second < 20 { 1.0 } else { 0.0 }).collect();
/// assert_eq!(stats::steady(&settles).map(|steady| steady.start_s), Ok(20));
/// ```
///
/// # Errors
/// [`NotSteady`] when it does not settle, or too late for what remains to be called steady.
pub fn steady(values: &[f64]) -> Result<Steady, NotSteady> {
    if values.len() < MIN_STEADY_S {
        return Err(NotSteady::TooShort { steady_s: values.len() });
    }
    let batches = Batches::of(values);
    let segments = segments::of(&batches);
    let first = first_alike(&segments);
    let start_s = segments.get(first).map_or(0, |segment| segment.from) * batches.width_s;
    let length_s = values.len() - start_s;
    if (length_s as f64) < MIN_SHARE * values.len() as f64 {
        return Err(unsettled(&segments, &batches));
    }
    if length_s < MIN_STEADY_S {
        return Err(NotSteady::TooShort { steady_s: length_s });
    }
    let line = line::through(&batches.means[start_s / batches.width_s..]);
    let is_real = line.change.abs() - line.half_width > DRIFT_EXCLUDED;
    if line.change.abs() >= DRIFT && is_real {
        return Err(NotSteady::Drift { change: line.change });
    }
    Ok(Steady { start_s, drift: line.change })
}

/// The first of the segments that have the level of the last one.
fn first_alike(segments: &[Segment]) -> usize {
    let Some(last) = segments.last() else { return 0 };
    let other = segments.iter().rposition(|segment| (segment.level - last.level).abs() > DELTA);
    other.map_or(0, |other| other + 1)
}

/// What keeps a series whose level changed too late from being steady.
fn unsettled(segments: &[Segment], batches: &Batches) -> NotSteady {
    let steps: Vec<(usize, f64)> = segments
        .windows(2)
        .map(|pair| (pair[1].from * batches.width_s, pair[1].level - pair[0].level))
        .filter(|(_, change)| change.abs() > DELTA)
        .collect();
    let turns = steps.windows(2).filter(|pair| pair[0].1.signum() != pair[1].1.signum()).count();
    let whole = match (segments.first(), segments.last()) {
        (Some(first), Some(last)) => last.level - first.level,
        _ => 0.0,
    };
    match steps.last() {
        Some(_) if turns >= TURNS => NotSteady::Oscillation { changes: steps.len() },
        Some(_) if turns == 0 && steps.len() >= STEPS => NotSteady::Drift { change: whole },
        Some((at_s, change)) => NotSteady::RegimeChange { at_s: *at_s, change: *change },
        // Many small steps, none of which is more than what counts as alike.
        None => NotSteady::Drift { change: whole },
    }
}

#[cfg(test)]
mod tests;
