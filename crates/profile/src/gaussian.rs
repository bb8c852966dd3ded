//! The normal distribution's tails.

use std::f64::consts::{PI, SQRT_2};

/// The half width of a 95 % interval, in standard errors.
pub(crate) const Z_95: f64 = 1.959_963_985;

/// The probability that a standard normal number is at least this far from 0, on either side.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

/// The complementary error function for x ≥ 0: Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.5 for
/// small x and the continued fraction 7.1.14 for others.
fn erfc(x: f64) -> f64 {
    const SERIES_UP_TO: f64 = 3.0;
    if x < SERIES_UP_TO {
        let mut term = x;
        let mut sum = x;
        for n in 1..100_u32 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        1.0 - 2.0 / PI.sqrt() * sum
    } else {
        let mut fraction = x;
        for n in (1..60_u32).rev() {
            fraction = x + f64::from(n) / 2.0 / fraction;
        }
        (-x * x).exp() / (PI.sqrt() * fraction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_printed_tables() {
        let table =
            [(0.0, 1.0), (1.0, 0.317_310_5), (1.959_964, 0.05), (3.290_527, 0.001), (6.0, 1.973_175e-9)];
        for (z, probability) in table {
            assert!((two_sided(z) / probability - 1.0).abs() < 1e-5, "{z}: {}", two_sided(z));
            assert_eq!(two_sided(-z), two_sided(z));
        }
        let joint = 3.0 * SQRT_2;
        assert!((two_sided(joint - 1e-9) / two_sided(joint + 1e-9) - 1.0).abs() < 1e-6);
        assert_eq!(two_sided(f64::INFINITY), 0.0);
    }
}
