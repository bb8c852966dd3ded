//! Whether a series rises: a slope that outliers do not change, and a test that uses only the order.

use crate::sample::quantile;

/// The median slope of a series, with the interval that its scatter supports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// Theil–Sen's slope: how much a value rises from one to the next.
    pub per_step: f64,
    /// The upper end of its one-sided 95 % interval.
    pub upper: f64,
}

/// Mann and Kendall's test for a rise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// How many more pairs rise than fall.
    pub s: i64,
    /// The probability of so many rises, or more, in a series without a trend.
    pub p_rising: f64,
}

/// Below this many values [`mann_kendall`] is exact where no two are equal.
const EXACT_BELOW: usize = 41;
/// One-sided 95 % of a standard normal number.
const Z_95: f64 = 1.644_853_627;

/// The median of the slopes between all pairs of `values`, which are at 0, 1, 2 …; none with fewer than two, or when one
/// is not finite.
///
/// Source: P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", Journal of the American
/// Statistical Association 63, 1968; the interval is that of its section 3.
///
/// ```
/// let slope = stats::theil_sen(&[1.0, 3.0, 5.0, 100.0]).unwrap();
/// // Slopes 2, 2, 33, 2, 48.5, 95: their median does not depend on how far off the last value is.
/// assert_eq!(slope.per_step, 17.5);
/// ```
pub fn theil_sen(values: &[f64]) -> Option<Slope> {
    theil_sen_within(&[values])
}

/// [`theil_sen`] of a series in `parts` of different levels: from the slopes within parts alone.
///
/// Source: R. M. Hirsch, J. R. Slack and R. A. Smith, "Techniques of trend analysis for monthly water quality data", Water
/// Resources Research 18, 1982, with parts instead of seasons.
///
/// ```
/// let slope = stats::theil_sen_within(&[&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]]).unwrap();
/// assert_eq!(slope.per_step, 1.0);
/// ```
pub fn theil_sen_within(parts: &[&[f64]]) -> Option<Slope> {
    let mut slopes = Vec::new();
    for values in parts {
        for (at, first) in values.iter().enumerate() {
            for (step, second) in values[at + 1..].iter().enumerate() {
                slopes.push((second - first) / (step + 1) as f64);
            }
        }
    }
    if slopes.is_empty() || parts.iter().any(|values| values.iter().any(|value| !value.is_finite())) {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let reach = Z_95 * parts.iter().map(|values| variance(values)).sum::<f64>().sqrt();
    let rank = ((slopes.len() as f64 + reach) / 2.0).ceil() as usize;
    let upper = slopes[rank.min(slopes.len() - 1)];
    Some(Slope { per_step: quantile(&slopes, 0.5)?, upper })
}

/// The significance of a rise of `values` over time; none with fewer than four, or when one is not finite.
///
/// The distribution is exact for up to 40 values that are all different (M. G. Kendall, "Rank Correlation Methods",
/// 1948), else normal with the variance corrected for ties and for continuity (H. B. Mann, "Nonparametric tests against
/// trend", Econometrica 13, 1945). The values must be independent: medians of blocks, not the samples of a series.
///
/// ```
/// let trend = stats::mann_kendall(&[1.0, 2.0, 3.0, 4.0]).unwrap();
/// assert_eq!((trend.s, trend.p_rising), (6, 1.0 / 24.0));
/// ```
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    mann_kendall_within(&[values])
}

/// [`mann_kendall`] of a series in `parts` of different levels, as [`theil_sen_within`]: the sum of S over parts, whose
/// variances add up. It is exact for a single part alone.
pub fn mann_kendall_within(parts: &[&[f64]]) -> Option<Trend> {
    let count: usize = parts.iter().map(|values| values.len()).sum();
    if count < 4 || parts.iter().any(|values| values.iter().any(|value| !value.is_finite())) {
        return None;
    }
    let mut s = 0;
    let mut has_ties = false;
    for values in parts {
        for (at, first) in values.iter().enumerate() {
            for second in &values[at + 1..] {
                s += i64::from(second > first) - i64::from(second < first);
                has_ties |= second == first;
            }
        }
    }
    let p_rising = if has_ties || count >= EXACT_BELOW || parts.len() > 1 {
        let deviation = parts.iter().map(|values| variance(values)).sum::<f64>().sqrt();
        // All values are equal: there is no trend.
        if deviation > 0.0 { upper_tail((s as f64 - 1.0) / deviation) } else { 1.0 }
    } else {
        exact(count, s)
    };
    Some(Trend { s, p_rising })
}

/// The variance of S without a trend, corrected for ties.
fn variance(values: &[f64]) -> f64 {
    let of = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|tied| of(tied.len() as f64)).sum();
    (of(values.len() as f64) - ties) / 18.0
}

/// The share of all orders of `n` different values in which S is at least `s`: by the number of inversions.
fn exact(n: usize, s: i64) -> f64 {
    let pairs = n * (n - 1) / 2;
    let mut shares = vec![1.0];
    for size in 2..=n {
        let mut next = vec![0.0; shares.len() + size - 1];
        for (inversions, share) in shares.iter().enumerate() {
            for more in 0..size {
                next[inversions + more] += share / size as f64;
            }
        }
        shares = next;
    }
    // S is the number of pairs less twice the inversions.
    let most = (pairs as i64 - s).div_euclid(2);
    let sum: f64 = shares.iter().take(usize::try_from(most + 1).unwrap_or(0)).sum();
    sum.min(1.0)
}

/// The probability that a standard normal number is at least `z`.
fn upper_tail(z: f64) -> f64 {
    let tail = erfc(z.abs() / std::f64::consts::SQRT_2) / 2.0;
    if z >= 0.0 { tail } else { 1.0 - tail }
}

/// The complementary error function for x ≥ 0: Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26,
/// within 1.5e-7.
fn erfc(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    series.iter().fold(0.0, |sum, factor| (sum * t) + factor) * t * (-x * x).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Kendall, "Rank Correlation Methods", appendix table 1: the probability that S is at least this.
    #[test]
    fn exact_probabilities_are_those_of_the_printed_table() {
        for (n, s, p) in [
            (4, 6, 0.042),
            (5, 8, 0.042),
            (6, 9, 0.068),
            (8, 16, 0.031),
            (10, 21, 0.036),
            (10, 45, 0.000_000_28),
        ] {
            let got = exact(n, s);
            assert!((got - p).abs() < 0.000_5, "n {n}, S {s}: {got}");
        }
        assert!((exact(10, -45) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn many_values_and_ties_use_the_normal_distribution() {
        for (z, p) in
            [(0.0, 0.5), (1.0, 0.158_655), (1.959_964, 0.025), (2.575_829, 0.005), (-1.0, 0.841_345)]
        {
            assert!((upper_tail(z) - p).abs() < 1e-6, "{z}");
        }
        let tied = mann_kendall(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]).unwrap();
        assert_eq!((tied.s, variance(&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0])), (12, 25.333_333_333_333_332));
        assert!(tied.p_rising < 0.02);
        assert_eq!(mann_kendall(&[2.0; 50]), Some(Trend { s: 0, p_rising: 1.0 }));
        // The exact and the normal distribution agree near the limit.
        let values: Vec<f64> = (0..40).map(|n| f64::from(n % 7) * 10.0 + f64::from(n)).collect();
        let exactly = mann_kendall(&values).unwrap();
        let nearly = upper_tail((exactly.s as f64 - 1.0) / variance(&values).sqrt());
        assert!((exactly.p_rising - nearly).abs() < 0.005, "{} {nearly}", exactly.p_rising);
    }

    proptest! {
        #[test]
        fn slope_and_trend_change_sign_with_the_series(values in prop::collection::vec(-1e6..1e6f64, 4..60), by in 0.5..4f64) {
            let turned: Vec<f64> = values.iter().rev().copied().collect();
            prop_assert_eq!(mann_kendall(&values).unwrap().s, -mann_kendall(&turned).unwrap().s);
            let slope = theil_sen(&values).unwrap();
            prop_assert!(slope.upper >= slope.per_step);
            let steeper: Vec<f64> = values.iter().zip(0..).map(|(v, n)| v + by * f64::from(n)).collect();
            prop_assert!((theil_sen(&steeper).unwrap().per_step - slope.per_step - by).abs() < 1e-6);
        }
    }
}
