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

/// How many observations act as one in a share, from batches of consecutive ones: the weighted variance of the batches'
/// shares over that of independent observations, as its upper limit at `confidence` (0.8) by chi-square with one degree
/// less than there are batches; at least 1. A batch without observations is left out. None with fewer than two batches,
/// and where all or none belong to the part: there is no variance then.
///
/// Source of the effect: L. Kish, "Survey Sampling", 1965, section 5.4, with batches instead of clusters.
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
    let batches: Vec<&Proportion> = batches.iter().filter(|batch| batch.whole > 0).collect();
    let whole: f64 = batches.iter().map(|batch| batch.whole as f64).sum();
    let share = batches.iter().map(|batch| batch.part as f64).sum::<f64>() / whole;
    let independent = share * (1.0 - share);
    if batches.len() < 2 || independent <= 0.0 {
        return None;
    }
    // Chi-square over its degrees, if all batches have the same share and observations are independent.
    let of =
        |batch: &&&Proportion| batch.whole as f64 * (batch.part as f64 / batch.whole as f64 - share).powi(2);
    let squares: f64 = batches.iter().map(|batch| of(&batch)).sum();
    let degrees = (batches.len() - 1) as f64;
    let least = 2.0 * lower_quantile(1.0 - confidence, degrees / 2.0);
    Some((squares / independent / least).max(1.0))
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
    let shares: Vec<&Proportion> = shares.iter().filter(|share| share.whole > 0).collect();
    let (part, whole) = shares.iter().fold((0, 0), |(p, w), share| (p + share.part, w + share.whole));
    let mean = part as f64 / whole as f64;
    let weighted = |share: &&Proportion| {
        let whole = share.whole as f64;
        (share.part as f64 / whole - mean) * whole.sqrt()
    };
    let deviations: Vec<f64> = shares.iter().map(weighted).collect();
    correlation_factor(lag_one(&deviations), length)
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
}
