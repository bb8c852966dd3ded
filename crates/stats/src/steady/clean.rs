//! Seconds joined into batches, with outliers replaced and whole periods of a periodic series in one batch.

use crate::sample::quantile;

/// Length of a batch, in seconds.
const BATCH_S: usize = 5;
/// More batches take longer and add nothing.
const MAX_BATCHES: usize = 1_000;
/// How many neighbours on each side an outlier is compared with.
const NEIGHBOURS: usize = 5;
/// An outlier is at least so many median deviations away …
const DEVIATIONS: f64 = 3.0;
/// … times this factor, which makes a median deviation a standard deviation if values are normal.
const NORMAL: f64 = 1.482_6;
/// Periods that are looked for, in seconds.
const PERIODS_S: std::ops::RangeInclusive<usize> = 5..=60;
/// The autocorrelation of a periodic series after one period is at least this …
const MIN_CORRELATION: f64 = 0.3;
/// … and lower by this somewhere in between.
const MIN_DIP: f64 = 0.2;
/// So many periods must be in the series.
const MIN_PERIODS: usize = 3;

/// A series in batches.
pub(super) struct Batches {
    /// Length of each, in seconds; the last may be longer.
    pub(super) width_s: usize,
    /// The mean of each, over all values.
    pub(super) means: Vec<f64>,
    /// The mean of each without outliers: for the segmentation alone.
    pub(super) cleaned: Vec<f64>,
}

impl Batches {
    pub(super) fn of(values: &[f64]) -> Batches {
        let width_s = period(values).unwrap_or(BATCH_S).max(values.len().div_ceil(MAX_BATCHES));
        Batches { width_s, means: means(values, width_s), cleaned: means(&without_outliers(values), width_s) }
    }
}

/// The mean of each batch, or the one before where a batch has no value. The remainder belongs to the last.
fn means(values: &[f64], width: usize) -> Vec<f64> {
    let count = (values.len() / width).max(1);
    let mut means: Vec<f64> = Vec::with_capacity(count);
    for batch in 0..count {
        let end = if batch + 1 == count { values.len() } else { (batch + 1) * width };
        let finite: Vec<f64> = values[batch * width..end].iter().copied().filter(|v| v.is_finite()).collect();
        means.extend(crate::mean(&finite).or(means.last().copied()));
    }
    // Batches before the first value get the first mean.
    let lacking = count - means.len();
    let first = means.first().copied().unwrap_or(0.0);
    means.splice(0..0, std::iter::repeat_n(first, lacking));
    means
}

/// Hampel's filter: a value that is far from the median of its neighbours is replaced by it. F. R. Hampel,
/// "The influence curve and its role in robust estimation", Journal of the American Statistical Association 69, 1974.
fn without_outliers(values: &[f64]) -> Vec<f64> {
    let cleaned = |at: usize| {
        let near = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(values.len());
        let near: Vec<f64> = values[near].iter().copied().filter(|v| v.is_finite()).collect();
        let middle = quantile(&near, 0.5)?;
        let deviations: Vec<f64> = near.iter().map(|v| (v - middle).abs()).collect();
        let reach = DEVIATIONS * NORMAL * quantile(&deviations, 0.5)?;
        let value = values[at];
        Some(if (value - middle).abs() > reach { middle } else { value })
    };
    (0..values.len()).map(|at| cleaned(at).unwrap_or(values[at])).collect()
}

/// The period of the series, in seconds, if it has one: the highest peak of its autocorrelation.
fn period(values: &[f64]) -> Option<usize> {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let longest = (*PERIODS_S.end()).min(finite.len() / MIN_PERIODS);
    if finite.len() < values.len() || longest <= *PERIODS_S.start() {
        return None;
    }
    let rest = crate::line::residuals(&finite);
    let variance: f64 = rest.iter().map(|r| r * r).sum();
    if variance <= f64::EPSILON {
        return None;
    }
    let correlation = |lag: usize| {
        let pairs = rest.iter().zip(&rest[lag..]).map(|(a, b)| a * b);
        pairs.sum::<f64>() / variance * rest.len() as f64 / (rest.len() - lag) as f64
    };
    let correlations: Vec<f64> = (0..=longest).map(correlation).collect();
    let peaks = (*PERIODS_S.start()..longest).filter(|lag| {
        let here = correlations[*lag];
        let lowest = correlations[..*lag].iter().copied().fold(1.0, f64::min);
        here >= MIN_CORRELATION
            && here - lowest >= MIN_DIP
            && here >= correlations[lag - 1]
            && here >= correlations[lag + 1]
    });
    peaks.max_by(|a, b| correlations[*a].total_cmp(&correlations[*b]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_is_an_outlier_and_a_level_is_not() {
        let mut values: Vec<f64> = (0..40).map(|n| f64::from(n % 3) * 0.01).collect();
        values[20] = 5.0;
        let cleaned = without_outliers(&values);
        assert!(cleaned[20] < 0.03);
        let step: Vec<f64> = (0..40).map(|n| if n < 15 { 1.0 } else { 0.0 }).collect();
        assert_eq!(without_outliers(&step), step);
    }

    #[test]
    fn a_period_is_found_and_a_line_has_none() {
        let periodic: Vec<f64> = (0..300).map(|n| if n % 30 < 4 { 1.0 } else { 0.0 }).collect();
        assert_eq!(period(&periodic), Some(30));
        let line: Vec<f64> = (0..300).map(f64::from).collect();
        assert_eq!((period(&line), period(&[1.0; 300]), period(&periodic[..12])), (None, None, None));
    }

    #[test]
    fn a_gap_is_not_a_zero() {
        let mut values = vec![2.0; 23];
        values[..7].fill(f64::NAN);
        values[11] = f64::NAN;
        assert_eq!(means(&values, 5), [2.0; 4]);
        assert_eq!(means(&[f64::NAN; 12], 5), [0.0; 2]);
    }
}
