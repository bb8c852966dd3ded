//! Exact limits of a share.

use crate::gamma::ln_gamma;

/// Observations per independent observation, where nothing is known of how they cluster.
pub const UNKNOWN_DESIGN_EFFECT: f64 = 10.0;
/// More terms than the fraction needs for the arguments of these limits.
const MOST_TERMS: u32 = 10_000;
const CLOSE: f64 = 1e-15;
/// More steps than bisection alone needs.
const MOST_STEPS: u32 = 100;

/// One-sided limits of a share, 0 to 1: each is exceeded with the stated confidence at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShareLimits {
    /// The share is at least this.
    pub lower: f64,
    /// The share is at most this.
    pub upper: f64,
}

/// The limits of a share of which `part` of `all` were observed, each at `confidence` (0.95: one-sided 95 %). Both counts
/// may be parts of observations: divide them by the design effect where observations cluster.
///
/// Clopper and Pearson, "The use of confidence or fiducial limits", 1934; on effective counts as in Korn and Graubard,
/// "Confidence intervals for proportions with small expected number of positive counts", 1998.
///
/// ```
/// // None of 59: the share is below 5 % at 95 %.
/// assert!(stats::share_limits(0.0, 59.0, 0.95).upper < 0.05);
/// ```
pub fn share_limits(part: f64, all: f64, confidence: f64) -> ShareLimits {
    let part = part.clamp(0.0, all.max(0.0));
    let rest = (all - part).max(0.0);
    let lower = if part > 0.0 { beta_quantile(1.0 - confidence, part, rest + 1.0) } else { 0.0 };
    let upper = match rest > 0.0 {
        // Close to 1 what is missing has digits that the share itself has not: limits would fall where the share rises.
        true if part > rest => 1.0 - beta_quantile(1.0 - confidence, rest, part + 1.0),
        true => beta_quantile(confidence, part + 1.0, rest),
        false => 1.0,
    };
    ShareLimits { lower, upper }
}

/// The fewest observations of which none beyond a bound shows at `confidence` that the share beyond is at most `allowed`.
///
/// ```
/// assert_eq!(stats::fewest_without(0.05, 0.95), 59);
/// ```
pub fn fewest_without(allowed: f64, confidence: f64) -> u64 {
    // Shares such as 1 − 0.95 are not exact in binary.
    ((1.0 - confidence).ln() / (-allowed).ln_1p() - 1e-9).ceil().max(1.0) as u64
}

/// The quantile `p` of the beta distribution: Newton's method, and bisection where it leaves the bracket.
fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let mut x = a / (a + b);
    for _ in 0..MOST_STEPS {
        let beyond = beta_share(x, a, b) - p;
        if beyond < 0.0 {
            low = x;
        } else {
            high = x;
        }
        let density = ((a - 1.0) * x.ln() + (b - 1.0) * (-x).ln_1p() - ln_beta(a, b)).exp();
        let newton = x - beyond / density;
        let next = if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
        if (next - x).abs() <= f64::EPSILON * x {
            break;
        }
        x = next;
    }
    x
}

/// The logarithm of the beta function.
fn ln_beta(a: f64, b: f64) -> f64 {
    ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b)
}

/// The regularised incomplete beta function: the continued fraction of DLMF 8.17.22 by Lentz's method.
fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta(a, b)).exp();
    let share = if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    };
    share.clamp(0.0, 1.0)
}

fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let not_zero = |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for m in 1..MOST_TERMS {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for numerator in [even, odd] {
            d = 1.0 / not_zero(1.0 + numerator * d);
            c = not_zero(1.0 + numerator / c);
            step = c * d;
            value *= step;
        }
        if (step - 1.0).abs() < CLOSE {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_upper_limit_of_a_larger_share_is_not_lower() {
        for effect in (10..600).map(|tenths| f64::from(tenths) / 10.0) {
            let upper = |part: u32| share_limits(f64::from(part) / effect, 75.0 / effect, 0.95).upper;
            let falls: Vec<u32> = (1..=75).filter(|part| upper(*part) < upper(part - 1)).collect();
            assert!(falls.is_empty(), "{falls:?} of 75 at {effect}");
        }
    }

    #[test]
    fn limits_are_those_of_the_printed_tables() {
        // Clopper and Pearson's limits: two-sided 90 % are one-sided 95 %, two-sided 95 % are one-sided 97.5 %.
        for (part, all, confidence, lower, upper) in [
            (0.0, 10.0, 0.95, 0.0, 0.2589),
            (1.0, 10.0, 0.95, 0.0051, 0.3942),
            (5.0, 10.0, 0.95, 0.2224, 0.7776),
            (10.0, 10.0, 0.95, 0.7411, 1.0),
            (2.0, 20.0, 0.975, 0.0123, 0.3170),
            (50.0, 100.0, 0.975, 0.3983, 0.6017),
            (10.0, 1000.0, 0.975, 0.0048, 0.0183),
        ] {
            let limits = share_limits(part, all, confidence);
            let is_close = |seen: f64, expected: f64| (seen - expected).abs() < 6e-5;
            assert!(
                is_close(limits.lower, lower) && is_close(limits.upper, upper),
                "{part}/{all}: {limits:?}"
            );
        }
    }

    #[test]
    fn a_quantile_is_where_the_share_is() {
        for a in [0.02, 0.5, 1.0, 3.7, 60.0, 2_000.0, 4e6] {
            for b in [0.02, 0.5, 1.0, 12.0, 900.0, 3e7] {
                for p in [0.001, 0.025, 0.05, 0.5, 0.95, 0.981, 0.999] {
                    let x = beta_quantile(p, a, b);
                    // What is a little less has less of the distribution below it, and what is a little more has more.
                    let (below, above) = (x * (1.0 - 1e-9) - 1e-12, (x * (1.0 + 1e-9) + 1e-12).min(1.0));
                    let shares = [beta_share(below, a, b), beta_share(above, a, b)];
                    assert!(shares[0] <= p + 1e-9 && shares[1] >= p - 1e-9, "{p} {a} {b}: {x} {shares:?}");
                }
            }
        }
    }

    #[test]
    fn parts_of_observations_and_large_counts_have_limits() {
        let none = share_limits(0.0, 215.4, 0.95).upper;
        assert!((none - (1.0 - 0.05f64.powf(1.0 / 215.4))).abs() < 1e-9, "{none}");
        let many = share_limits(5e7, 1e9, 0.95);
        assert!(many.lower > 0.04998 && many.upper < 0.05002 && many.lower < many.upper, "{many:?}");
        assert_eq!(share_limits(0.0, 0.0, 0.95), ShareLimits { lower: 0.0, upper: 1.0 });
    }

    #[test]
    fn the_fewest_observations_without_any_beyond() {
        let fewest = |quantile: f64| fewest_without(1.0 - quantile, 0.95);
        assert_eq!([fewest(0.95), fewest(0.99), fewest(0.999)], [59, 299, 2_995]);
        for quantile in [0.95, 0.99, 0.999] {
            let limit = |all: u64| share_limits(0.0, all as f64, 0.95).upper;
            let all = fewest(quantile);
            assert!(limit(all) <= 1.0 - quantile && limit(all - 1) > 1.0 - quantile);
        }
    }
}
