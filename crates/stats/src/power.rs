//! How large a difference pairs can show.

use crate::gamma::{ln_gamma, lower_quantile, upper};
use crate::student::t_quantile;

/// Steps of the integral over the estimated deviation.
const STEPS: u32 = 128;

/// The probability that a two-sided t test at level `nominal` over `pairs` rejects, where the true difference is `effect`
/// times the standard deviation of a pair's: the noncentral t distribution, as the mean of the normal probability over the
/// distribution of the estimated deviation. The rejections in the wrong direction, which hardly occur, are left out.
pub fn power(effect: f64, pairs: u32, nominal: f64) -> f64 {
    power_beyond(critical(pairs, nominal), effect, pairs)
}

/// What |t| must exceed to be rejected.
fn critical(pairs: u32, nominal: f64) -> f64 {
    t_quantile(1.0 - nominal / 2.0, pairs.saturating_sub(1).max(1))
}

fn power_beyond(bound: f64, effect: f64, pairs: u32) -> f64 {
    noncentral_beyond(bound, effect.abs() * f64::from(pairs).sqrt(), pairs.saturating_sub(1).max(1))
}

/// The probability that noncentral t with this `shift` and so many `degrees` of freedom is above `bound`.
pub(crate) fn noncentral_beyond(bound: f64, shift: f64, degrees: u32) -> f64 {
    let freedom = f64::from(degrees);
    // The density of the deviation's ratio to the truth, chi over the square root of its degrees.
    let constant = freedom / 2.0 * (freedom / 2.0).ln() - ln_gamma(freedom / 2.0);
    let density = |ratio: f64| {
        let ln = (freedom - 1.0) * ratio.ln() - freedom * ratio * ratio / 2.0 + constant;
        2.0 * ln.exp()
    };
    let width = 8.0 / (2.0 * freedom).sqrt();
    let (from, to) = ((1.0 - width).max(0.0), 1.0 + width);
    let step = (to - from) / f64::from(STEPS);
    let at = |i: u32| from + (f64::from(i) + 0.5) * step;
    let rejected = |ratio: f64| density(ratio) * normal_below(shift - bound * ratio) * step;
    (0..STEPS).map(|i| rejected(at(i))).sum::<f64>().clamp(0.0, 1.0)
}

/// The difference that pairs with this standard deviation show with the probability `wanted` (0.5 to below 1), in the
/// unit of the deviation. By bisection.
///
/// ```
/// // Ten pairs with a deviation of 2 %, at 1 %: 3.4 % is found with 95 %.
/// let smallest = stats::smallest_effect(0.02, 10, 0.01, 0.95);
/// assert!((smallest.exp_m1() - 0.034).abs() < 0.0005, "{smallest}");
/// ```
pub fn smallest_effect(deviation: f64, pairs: u32, nominal: f64, wanted: f64) -> f64 {
    let bound = critical(pairs, nominal);
    let (mut low, mut high) = (0.0, 1.0);
    while power_beyond(bound, high, pairs) < wanted && high < 1e6 {
        high *= 2.0;
    }
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        if power_beyond(bound, middle, pairs) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    high * deviation
}

/// How many times as large as a standard deviation of so many values the true one is at most, with this confidence (0 to 1):
/// the upper limit of the chi-square distribution. Infinite for fewer than two values.
///
/// ```
/// // Eight pairs know a deviation to × 1.35, at 80 %.
/// assert!((stats::deviation_limit(8, 0.8) - 1.35).abs() < 0.005);
/// ```
pub fn deviation_limit(values: u32, confidence: f64) -> f64 {
    let degrees = f64::from(values.saturating_sub(1));
    if degrees < 1.0 {
        return f64::INFINITY;
    }
    (degrees / 2.0 / lower_quantile(1.0 - confidence, degrees / 2.0)).sqrt()
}

/// The probability that a standard normal value is below `z`.
pub fn normal_below(z: f64) -> f64 {
    let tail = upper(0.5, z * z / 2.0) / 2.0;
    if z >= 0.0 { 1.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_printed_tables() {
        // J. Cohen, "Statistical Power Analysis", 2nd ed., section 2.3: a two-sided test of one mean at 5 %.
        for (effect, pairs, expected) in [(0.5, 34, 0.81), (0.8, 15, 0.82), (0.5, 10, 0.29)] {
            let found = power(effect, pairs, 0.05);
            assert!((found - expected).abs() < 0.01, "{effect} {pairs}: {found}");
        }
        assert!((power(0.0, 10, 0.05) - 0.025).abs() < 0.001);
    }

    #[test]
    fn more_pairs_show_smaller_differences() {
        let of = |pairs| smallest_effect(0.03, pairs, 0.01, 0.95);
        // From simulation: 35 %, 10.6 %, 5.1 % and 3.2 % for 3, 5, 10 and 20 pairs.
        for (pairs, percent) in [(3, 35.0), (5, 10.6), (10, 5.1), (20, 3.2)] {
            let found = of(pairs).exp_m1() * 100.0;
            assert!((found / percent - 1.0).abs() < 0.03, "{pairs}: {found}");
        }
    }

    #[test]
    fn the_normal_distribution_has_its_quantiles() {
        for (z, p) in [(0.0, 0.5), (1.959_964, 0.975), (-1.644_854, 0.05)] {
            assert!((normal_below(z) - p).abs() < 1e-6, "{z}");
        }
    }
}
