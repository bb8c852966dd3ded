//! How far below a mean most single values lie.

use crate::power::{noncentral_beyond, normal_below};

/// Factors are not searched beyond.
const MOST: f64 = 1e4;
const HALVINGS: u32 = 60;

/// How many standard deviations below the mean of `values` normal ones a limit is that at least `share` of all further values
/// exceed, with `confidence` (both 0.5 to below 1), where the deviation is known with `degrees` degrees of freedom. Infinite
/// without values or degrees.
///
/// By the noncentral t distribution: NIST/SEMATECH e-Handbook, section 7.2.6.3. The deviation may be pooled over other values,
/// so that there are more degrees than values.
///
/// ```
/// // Of ten values: nine of ten further ones are above, with 95 %.
/// assert!((stats::tolerance_factor(0.90, 0.95, 10, 9) - 2.355).abs() < 0.002);
/// ```
pub fn tolerance_factor(share: f64, confidence: f64, values: u32, degrees: u32) -> f64 {
    if values == 0 || degrees == 0 {
        return f64::INFINITY;
    }
    let root = f64::from(values).sqrt();
    let shift = normal_quantile(share) * root;
    between(0.0, MOST, |factor| noncentral_beyond(factor * root, shift, degrees) > 1.0 - confidence)
}

/// The quantile `p` (0.5 to below 1) of the standard normal distribution.
fn normal_quantile(p: f64) -> f64 {
    between(0.0, 40.0, |z| normal_below(z) < p)
}

/// Where `is_below` ends to hold.
fn between(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if is_below(middle) { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_printed_tables() {
        // One-sided factors for normal distributions, G. Hahn and W. Meeker, "Statistical Intervals", 1991, table A.12.
        let table = [
            (0.90, 0.95, 3, 6.155),
            (0.90, 0.95, 5, 3.407),
            (0.90, 0.95, 20, 1.926),
            (0.95, 0.95, 10, 2.911),
            (0.99, 0.95, 10, 3.981),
            (0.90, 0.99, 10, 3.048),
        ];
        for (share, confidence, values, expected) in table {
            let found = tolerance_factor(share, confidence, values, values - 1);
            assert!((found / expected - 1.0).abs() < 0.005, "{share} {confidence} {values}: {found}");
        }
        assert!(tolerance_factor(0.9, 0.95, 3, 18) < tolerance_factor(0.9, 0.95, 3, 2));
        assert_eq!(tolerance_factor(0.9, 0.95, 3, 0), f64::INFINITY);
    }
}
