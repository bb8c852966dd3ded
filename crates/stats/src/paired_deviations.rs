//! How much smaller one standard deviation is than another, both of the same pairs.

use crate::sample::{mean, standard_deviation};
use crate::student::t_quantile;

/// The upper limit, at a one-sided `confidence`, of the standard deviation of `second` as a share of that of `first`, whose values
/// belong to each other in order. None for fewer than three, for unequal numbers, and where `first` does not vary.
///
/// E. J. G. Pitman, "A note on normal correlation", and W. A. Morgan, "A test for the significance of the difference between the two
/// variances in a sample from a normal bivariate population", both Biometrika 31, 1939: if the ratio of the variances is θ, then
/// √θ·first + second and √θ·first − second do not correlate.
///
/// ```
/// let first = [1.0, -2.0, 3.0, -1.5, 0.5, -1.0];
/// let half = first.map(|value| value / 2.0);
/// let limit = stats::deviation_ratio_limit(&first, &half, 0.8).unwrap();
/// assert!((limit - 0.5).abs() < 1e-9, "what is half in each pair is half without error");
/// ```
pub fn deviation_ratio_limit(first: &[f64], second: &[f64], confidence: f64) -> Option<f64> {
    let degrees = u32::try_from(first.len()).ok()?.checked_sub(2).filter(|degrees| *degrees > 0)?;
    let deviations = [standard_deviation(first)?, standard_deviation(second)?];
    if first.len() != second.len() || deviations[0] <= 0.0 {
        return None;
    }
    let means = [mean(first)?, mean(second)?];
    let products: f64 = first.iter().zip(second).map(|(x, y)| (x - means[0]) * (y - means[1])).sum();
    let scale = deviations[0] * deviations[1] * f64::from(degrees + 1);
    let correlation = if scale > 0.0 { (products / scale).clamp(-1.0, 1.0) } else { 0.0 };
    let t = t_quantile(confidence, degrees);
    let spread = 1.0 + 2.0 * t * t * (1.0 - correlation * correlation) / f64::from(degrees);
    Some(deviations[1] / deviations[0] * (spread + (spread * spread - 1.0).sqrt()).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With vectors that do not correlate the limit is a quantile of F: Pitman's t² is (θ − F)² (n − 2) / 4θF.
    #[test]
    fn of_what_does_not_correlate_the_limit_solves_pitmans_equation() {
        let first = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
        let second = [0.5, 0.5, -0.5, -0.5, 0.5, 0.5, -0.5, -0.5];
        let theta = deviation_ratio_limit(&first, &second, 0.8).unwrap().powi(2);
        let t = ((theta - 0.25).powi(2) * 6.0 / (4.0 * theta * 0.25)).sqrt();
        // Student's t of 6 degrees of freedom, 80 %: 0.906 in every table.
        assert!((t - 0.906).abs() < 0.000_5, "{t}");
    }

    #[test]
    fn what_does_not_vary_has_no_ratio() {
        assert_eq!(deviation_ratio_limit(&[1.0; 5], &[1.0, 2.0, 3.0, 4.0, 5.0], 0.8), None);
        assert_eq!(deviation_ratio_limit(&[1.0, 2.0], &[1.0, 2.0], 0.8), None);
        assert_eq!(deviation_ratio_limit(&[1.0, 2.0, 4.0], &[3.0; 3], 0.8), Some(0.0));
    }
}
