//! Seconds joined into batches: outliers marked, and what recurs taken together.

use crate::sample::quantile;

/// Length of a batch, in seconds.
const BATCH_S: usize = 5;
/// More batches than this take long and show no more.
const MAX_BATCHES: usize = 1_000;
/// How many neighbours on each side an outlier is held against.
const NEIGHBOURS: usize = 5;
/// An outlier is so many median deviations off …
const DEVIATIONS: f64 = 3.0;
/// … each of which is so much of a standard deviation, if values are normal.
const NORMAL: f64 = 1.482_6;
/// Periods that are looked for, in seconds.
const PERIODS_S: std::ops::RangeInclusive<usize> = 5..=60;
/// How much a series must be like itself one period on …
const RECURS: f64 = 0.3;
/// … and how much less somewhere in between.
const DIPS: f64 = 0.2;
/// So many periods must be seen.
const PERIODS: usize = 3;

/// A series in batches.
pub(super) struct Batches {
    /// Length of each, in seconds; the last may be longer.
    pub(super) width_s: usize,
    /// Of all values.
    pub(super) means: Vec<f64>,
    /// Of values without outliers: for the segmentation alone.
    pub(super) cleaned: Vec<f64>,
}

impl Batches {
    pub(super) fn of(values: &[f64]) -> Batches {
        let width_s = period(values).unwrap_or(BATCH_S).max(values.len().div_ceil(MAX_BATCHES));
        Batches { width_s, means: means(values, width_s), cleaned: means(&without_outliers(values), width_s) }
    }
}

/// The mean of each batch, or the one before where a batch has no value. What is left over belongs to the last.
fn means(values: &[f64], width: usize) -> Vec<f64> {
    let count = (values.len() / width).max(1);
    let mut means: Vec<f64> = Vec::with_capacity(count);
    for batch in 0..count {
        let end = if batch + 1 == count { values.len() } else { (batch + 1) * width };
        let finite: Vec<f64> = values[batch * width..end].iter().copied().filter(|v| v.is_finite()).collect();
        means.extend(crate::mean(&finite).or(means.last().copied()));
    }
    // Nothing came before the first value: say that it was like it.
    let lacking = count - means.len();
    let first = means.first().copied().unwrap_or(0.0);
    means.splice(0..0, std::iter::repeat_n(first, lacking));
    means
}

/// Hampel's filter: a value that is far from the median of its neighbours is taken to be that median. F. R. Hampel,
/// "The influence curve and its role in robust estimation", Journal of the American Statistical Association 69, 1974.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    let cleaned = |at: usize| {
        let near = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(values.len());
        let near: Vec<f64> = values[near].iter().copied().filter(|v| v.is_finite()).collect();
        let middle = quantile(&near, 0.5)?;
        let off: Vec<f64> = near.iter().map(|v| (v - middle).abs()).collect();
        let reach = DEVIATIONS * NORMAL * quantile(&off, 0.5)?;
        let value = values[at];
        Some(if (value - middle).abs() > reach { middle } else { value })
    };
    (0..values.len()).map(|at| cleaned(at).unwrap_or(values[at])).collect()
}

/// After how many seconds the series comes back to itself, if it does: the highest peak of its autocorrelation.
fn period(values: &[f64]) -> Option<usize> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let longest = (*PERIODS_S.end()).min(finite.len() / PERIODS);
    if finite.len() < values.len() || longest <= *PERIODS_S.start() {
        return None;
    }
    let rest = super::line::rest(&finite);
    let variance: f64 = rest.iter().map(|r| r * r).sum();
    if variance <= f64::EPSILON {
        return None;
    }
    let like = |lag: usize| {
        let pairs = rest.iter().zip(&rest[lag..]).map(|(a, b)| a * b);
        pairs.sum::<f64>() / variance * rest.len() as f64 / (rest.len() - lag) as f64
    };
    let likeness: Vec<f64> = (0..=longest).map(like).collect();
    let peaks = (*PERIODS_S.start()..longest).filter(|lag| {
        let here = likeness[*lag];
        let lowest = likeness[..*lag].iter().copied().fold(1.0, f64::min);
        here >= RECURS && here - lowest >= DIPS && here >= likeness[lag - 1] && here >= likeness[lag + 1]
    });
    peaks.max_by(|a, b| likeness[*a].total_cmp(&likeness[*b]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_value_is_an_outlier_and_a_level_is_not() {
        let mut values: Vec<f64> = (0..40).map(|n| f64::from(n % 3) * 0.01).collect();
        values[20] = 5.0;
        let cleaned = without_outliers(&values);
        assert!(cleaned[20] < 0.03);
        let step: Vec<f64> = (0..40).map(|n| if n < 15 { 1.0 } else { 0.0 }).collect();
        assert_eq!(without_outliers(&step), step);
    }

    #[test]
    fn what_recurs_is_taken_together_and_noise_is_not() {
        let saw: Vec<f64> = (0..300).map(|n| if n % 30 < 4 { 1.0 } else { 0.0 }).collect();
        assert_eq!(period(&saw), Some(30));
        let line: Vec<f64> = (0..300).map(f64::from).collect();
        assert_eq!((period(&line), period(&[1.0; 300]), period(&saw[..12])), (None, None, None));
    }

    #[test]
    fn a_gap_is_no_zero() {
        let mut values = vec![2.0; 23];
        values[..7].fill(f64::NAN);
        values[11] = f64::NAN;
        assert_eq!(means(&values, 5), [2.0; 4]);
        assert_eq!(means(&[f64::NAN; 12], 5), [0.0; 2]);
    }
}
