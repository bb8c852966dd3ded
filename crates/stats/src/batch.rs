//! The interval of a value from the scatter of its batches within one run.

use crate::difference::Proportion;
use crate::gamma::lower_quantile;
use crate::sample::standard_deviation;
use crate::student::t_quantile;

/// A share that resembles the one before more than this is taken to resemble it so much.
const MOST_CORRELATED: f64 = 0.98;

/// A two-sided interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// The standard error it is computed from.
    pub standard_error: f64,
}

/// The 95 % interval around `value` from the same statistic over consecutive batches of the run; none with
/// fewer than three batches. It describes this run only: the spread between starts is not in it.
///
/// Method of batch means: the standard error is `s / √b` of the `b` batch values, the factor Student's t
/// with `b − 1` degrees of freedom (A. M. Law, "Simulation Modeling and Analysis", 9.5.3). With batches
/// of 10 s it covers a load test's quantiles better than order statistics, which assume independent requests.
///
/// ```
/// let interval = stats::batch_means(10.0, &[9.0, 10.0, 11.0]).unwrap();
/// assert!((interval.standard_error - 1.0 / 3f64.sqrt()).abs() < 1e-12);
/// assert!((interval.high - (10.0 + 4.302653 / 3f64.sqrt())).abs() < 1e-5);
/// ```
pub fn batch_means(value: f64, batches: &[f64]) -> Option<Interval> {
    if batches.len() < 3 || batches.iter().any(|b| !b.is_finite()) {
        return None;
    }
    let standard_error = standard_deviation(batches)? / (batches.len() as f64).sqrt();
    let degrees = u32::try_from(batches.len() - 1).unwrap_or(u32::MAX);
    let half = t_quantile(0.975, degrees) * standard_error;
    Some(Interval { low: value - half, high: value + half, standard_error })
}

/// The ratio of the variance of a statistic, estimated from `batches` of one run, to the variance that independent
/// observations would give: `(s² / b) / SE²`, at least 1. The effective sample size is n divided by it.
///
/// `independent_error` is the statistic's standard error under independence. None with fewer than three
/// batches, or when a batch is not finite or the error not positive. Source: L. Kish, "Survey Sampling",
/// 1965, section 5.4, with batches instead of clusters.
///
/// ```
/// let effect = stats::design_effect(&[10.0, 12.0, 11.0, 13.0, 9.0], 0.5).unwrap();
/// assert!((effect - 2.0).abs() < 1e-9);
/// ```
pub fn design_effect(batches: &[f64], independent_error: f64) -> Option<f64> {
    let is_usable = batches.len() >= 3
        && batches.iter().all(|b| b.is_finite())
        && independent_error.is_finite()
        && independent_error > 0.0;
    let spread = standard_deviation(batches).filter(|_| is_usable)?;
    let variance = spread.powi(2) / batches.len() as f64;
    Some((variance / independent_error.powi(2)).max(1.0))
}

/// How many observations act as one in a share, from batches of consecutive ones: the variance of the share by its batches
/// over that of independent observations, as its upper limit at `confidence` (0.8); at least 1. A batch without observations
/// is left out. None with fewer than two batches, and where all or none belong to the part: there is no variance then.
///
/// The variance is that of a ratio, `Σ(xᵢ − p nᵢ)² · b / ((b − 1) N²)` for the parts `xᵢ` of the batches' `nᵢ` (W. G. Cochran,
/// "Sampling Techniques", 1977, section 6.3), because batches may be the larger the more of them belongs to the part: users
/// that fail fast come back sooner. Its upper limit is that of chi-square with as many degrees as a few large deviations among
/// many small ones leave: `2b / (k − (b − 3)/(b − 1))`, at most `b − 1`, with the kurtosis `k = b Σdᵢ⁴ / (Σdᵢ²)²` (L. H.
/// Shoemaker, "Fixing the F test for equal variances", The American Statistician 57, 2003). Source of the effect: L. Kish,
/// "Survey Sampling", 1965, section 5.4, with batches instead of clusters.
///
/// ```
/// use stats::Proportion;
///
/// // One batch in ten contains everything: an outage.
/// let mut batches = vec![Proportion { part: 0, whole: 100 }; 9];
/// batches.push(Proportion { part: 100, whole: 100 });
/// assert!(stats::design_effect_of_shares(&batches, 0.8).unwrap() > 100.0);
/// ```
pub fn design_effect_of_shares(batches: &[Proportion], confidence: f64) -> Option<f64> {
    let Deviations { share, whole, of_parts } = Deviations::of(batches);
    let independent = whole * share * (1.0 - share);
    let count = of_parts.len() as f64;
    if of_parts.len() < 2 || independent <= 0.0 {
        return None;
    }
    let power = |exponent: i32| of_parts.iter().map(|deviation| deviation.powi(exponent)).sum::<f64>();
    let (squares, fourth) = (power(2), power(4));
    if squares <= 0.0 {
        return Some(1.0);
    }
    let kurtosis = count * fourth / squares.powi(2);
    let degrees = 2.0 * count / (kurtosis - (count - 3.0) / (count - 1.0)).max(f64::MIN_POSITIVE);
    let degrees = degrees.min(count - 1.0);
    let effect = squares * count / (count - 1.0) / independent;
    Some((effect * degrees / (2.0 * lower_quantile(1.0 - confidence, degrees / 2.0))).max(1.0))
}

/// By what factor the variance of a share exceeds the one that batches of `length` consecutive `shares` show as if they were
/// independent of each other; at least 1, and 1 where all shares are the same or there are fewer than two.
///
/// Of a first-order autoregression with the lag-1 correlation φ of the shares, of which φᵏ is the correlation at lag k:
/// `(1 + φ)/(1 − φ)` over the same without the lags between batches, `(1 + φ)/(1 − φ) − 2φ(1 − φˡ)/(l(1 − φ)²)`. A share
/// without observations is left out. Source: the autoregressive method of A. M. Law, "Simulation Modeling and Analysis", 9.5.3.
///
/// ```
/// use stats::Proportion;
///
/// let shares = |part: fn(u64) -> u64| -> Vec<_> { (0..120).map(|n| Proportion { part: part(n), whole: 10 }).collect() };
/// assert_eq!(stats::correlation_of_batches(&shares(|n| n % 2), 10), 1.0);
/// assert!(stats::correlation_of_batches(&shares(|n| n / 12), 10) > 2.0);
/// ```
pub fn correlation_of_batches(shares: &[Proportion], length: usize) -> f64 {
    correlation_factor(lag_one(&Deviations::of(shares).of_parts), length)
}

/// Over how many of these consecutive shares the level behind them changes: the integral of its autocorrelation, up to the first
/// lag at which that is not positive. The chance by which shares of a constant level would differ is left out of it. None where
/// the lag-1 correlation of the shares does not exceed 1.645/√b, which chance explains.
///
/// A run that is not much longer than what it estimates shows too little of slow changes: the value is then too low. Source:
/// A. D. Sokal, "Monte Carlo methods in statistical mechanics", 1997, section 3, with the variance of a binomial subtracted.
///
/// ```
/// use stats::Proportion;
///
/// let shares: Vec<_> = (0..120).map(|n| Proportion { part: u64::from(n % 40 < 20) * 5, whole: 10 }).collect();
/// assert!(stats::relaxation(&shares).is_some_and(|relaxation| (5.0..10.0).contains(&relaxation)));
/// ```
pub fn relaxation(shares: &[Proportion]) -> Option<f64> {
    let Deviations { share, whole, of_parts } = Deviations::of(shares);
    let product =
        |lag: usize| -> f64 { of_parts.iter().zip(of_parts.iter().skip(lag)).map(|(a, b)| a * b).sum() };
    let (squares, neighbours) = (product(0), product(1));
    // Not a number where all shares are the same.
    let correlation = neighbours / squares;
    if correlation.is_nan() || correlation <= 1.645 / (of_parts.len() as f64).sqrt() {
        return None;
    }
    let variance = (squares - whole * share * (1.0 - share)).max(neighbours);
    let correlations =
        (1..of_parts.len()).map(|lag| product(lag) / variance).take_while(|correlation| *correlation > 0.0);
    Some(0.5 + correlations.sum::<f64>())
}

/// How far the parts of batches are from the share of all of them.
struct Deviations {
    /// Of all.
    share: f64,
    /// Observations.
    whole: f64,
    /// `xᵢ − p nᵢ` of each batch that has observations.
    of_parts: Vec<f64>,
}

impl Deviations {
    fn of(batches: &[Proportion]) -> Deviations {
        let batches = || batches.iter().filter(|batch| batch.whole > 0);
        let (part, whole) = batches().fold((0, 0), |(p, w), batch| (p + batch.part, w + batch.whole));
        let share = part as f64 / whole as f64;
        let of_parts = batches().map(|batch| batch.part as f64 - share * batch.whole as f64).collect();
        Deviations { share, whole: whole as f64, of_parts }
    }
}

/// The lag-1 correlation of deviations from their mean; 0 where there are none.
pub(crate) fn lag_one(deviations: &[f64]) -> f64 {
    let squares: f64 = deviations.iter().map(|deviation| deviation.powi(2)).sum();
    let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// The factor of [`correlation_of_batches`], from the lag-1 correlation.
pub(crate) fn correlation_factor(lag_one: f64, length: usize) -> f64 {
    let phi = lag_one.clamp(0.0, MOST_CORRELATED);
    if length == 0 {
        return 1.0;
    }
    let all_lags = (1.0 + phi) / (1.0 - phi);
    let length = length as f64;
    let between = 2.0 * phi * (1.0 - phi.powf(length)) / (length * (1.0 - phi).powi(2));
    all_lags / (all_lags - between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_interval_contains_its_value_and_grows_with_scatter(
            value in -1e6..1e6f64, batches in prop::collection::vec(-1e3..1e3f64, 3..40),
        ) {
            let narrow = batch_means(value, &batches).unwrap();
            prop_assert!(narrow.low <= value && value <= narrow.high);
            let wider: Vec<f64> = batches.iter().map(|b| b * 2.0).collect();
            prop_assert!(batch_means(value, &wider).unwrap().standard_error >= narrow.standard_error);
        }
    }

    #[test]
    fn two_batches_or_an_infinite_one_give_no_interval() {
        assert_eq!(batch_means(1.0, &[1.0, 2.0]), None);
        assert_eq!(batch_means(1.0, &[1.0, 2.0, f64::INFINITY]), None);
        assert_eq!(design_effect(&[1.0, 2.0, f64::INFINITY], 1.0), None);
        assert_eq!(design_effect(&[1.0, 2.0, 3.0], 0.0), None);
    }

    fn of(part: u64, whole: u64) -> Proportion {
        Proportion { part, whole }
    }

    /// Chi-square with 9 degrees exceeds 5.380 with a probability of 80 %.
    #[test]
    fn the_design_effect_is_an_upper_limit() {
        let batches: Vec<Proportion> = (0..10).map(|n| of(if n % 2 == 0 { 20 } else { 0 }, 100)).collect();
        let squares = 10.0 * 100.0 * 0.1_f64.powi(2) / (0.1 * 0.9);
        let effect = design_effect_of_shares(&batches, 0.8).unwrap();
        assert!((effect - squares / 5.380).abs() < 0.01, "{effect}");
        assert_eq!(design_effect_of_shares(&[of(0, 10), of(0, 10)], 0.8), None);
        assert_eq!(design_effect_of_shares(&[of(5, 10), of(0, 0)], 0.8), None);
    }

    /// One of ten batches has all that fail: k = 10 × (90⁴ + 9 × 10⁴) / (90² + 9 × 10²)² = 8.11, so that 2.73 degrees are left,
    /// and not 9. Chi-square with 2.73 degrees exceeds 0.842 with a probability of 80 %.
    #[test]
    fn one_large_cluster_shows_little_of_how_clusters_vary() {
        let mut batches = vec![of(0, 100); 9];
        batches.push(of(100, 100));
        let effect = design_effect_of_shares(&batches, 0.8).unwrap();
        let of_the_run = 9_000.0 * 10.0 / 9.0 / (1_000.0 * 0.1 * 0.9);
        assert!((effect / of_the_run - 2.73 / 0.842).abs() < 0.05, "{effect} {of_the_run}");
    }

    /// Failures that end at once come ten times as often while they do: two of six seconds have ten times the requests.
    #[test]
    fn batches_that_are_larger_because_they_fail_count_by_their_size() {
        let fast = [of(0, 100), of(0, 100), of(1_000, 1_000), of(0, 100), of(0, 100), of(1_000, 1_000)];
        let share = 2_000.0_f64 / 2_400.0;
        let squares = 2.0 * (1_000.0 * (1.0 - share)).powi(2) + 4.0 * (100.0 * share).powi(2);
        let of_the_run = squares * 6.0 / 5.0 / (2_400.0 * share * (1.0 - share));
        let effect = design_effect_of_shares(&fast, 0.5).unwrap();
        // Chi-square with 5 degrees has the median 4.351.
        assert!((effect / of_the_run - 5.0 / 4.351).abs() < 0.01, "{effect} {of_the_run}");
    }

    /// The covariances of a batch mean and of the mean of very many, summed one by one.
    #[test]
    fn correlated_batches_are_fewer_than_they_seem() {
        let shares: Vec<Proportion> = (0..240).map(|n| of(u64::from(n % 8 < 4), 2)).collect();
        // Neighbours: 180 alike, 59 different ones.
        let phi: f64 = (180.0 - 59.0) / 240.0;
        let within: f64 = (1..10).map(|lag| 2.0 * (1.0 - f64::from(lag) / 10.0) * phi.powi(lag)).sum();
        let all: f64 = (1..200).map(|lag| 2.0 * phi.powi(lag)).sum();
        let expected = (1.0 + all) / (1.0 + within);
        let factor = correlation_of_batches(&shares, 10);
        assert!((factor - expected).abs() < 1e-9 && factor > 1.1, "{factor} {expected}");
        assert_eq!(correlation_of_batches(&[of(1, 2); 20], 10), 1.0, "all the same");
        assert_eq!(correlation_of_batches(&[], 10), 1.0);
    }

    /// Blocks of 20 s, each at another level than the next: the correlation at lag k is 1 − k/20 up to 20, whose integral is 10.
    /// With 10 of 100 and 20 of 100 in turn the binomial's part of the variance is known: 100 × 0.15 × 0.85 a share, where
    /// the level's own is 25.
    #[test]
    fn the_relaxation_is_the_integral_of_the_correlation_of_the_level() {
        let level = |n: usize| [10, 20, 20, 10, 20, 10, 10, 20][(n / 20) % 8];
        let shares: Vec<Proportion> = (0..160).map(|n| of(level(n), 100)).collect();
        assert!(
            relaxation(&shares).is_some_and(|all| (6.0..12.0).contains(&all)),
            "{:?}",
            relaxation(&shares)
        );
        let chance: Vec<Proportion> = (0..160).map(|n| of(10 + 10 * (n % 2), 100)).collect();
        assert_eq!(relaxation(&chance), None);
        assert_eq!(relaxation(&[]), None);
        assert_eq!(relaxation(&[of(1, 2); 30]), None, "all the same");
    }
}
