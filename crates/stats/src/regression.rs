//! A straight line through points, and where it reaches a level.

use crate::batch::Interval;
use crate::student::t_quantile;

/// The line of least squares through points, with the error of its residuals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regression {
    /// Where the line is at the mean of the points' first coordinates.
    centre: (f64, f64),
    /// By how much the line rises per unit.
    pub slope: f64,
    /// The sum of squares of the first coordinates' distances from their mean.
    squares: f64,
    /// The variance of the residuals.
    variance: f64,
    points: u32,
}

impl Regression {
    /// The line through `points`; none with fewer than three, with one that is not finite, or with equal first coordinates.
    ///
    /// ```
    /// let line = stats::Regression::through(&[(1.0, 3.0), (2.0, 5.0), (3.0, 7.0)]).unwrap();
    /// assert!((line.slope - 2.0).abs() < 1e-12);
    /// let reached = line.reaches(21.0, 0.95).unwrap();
    /// assert!((reached.low - 10.0).abs() < 1e-9 && (reached.high - 10.0).abs() < 1e-9);
    /// ```
    pub fn through(points: &[(f64, f64)]) -> Option<Regression> {
        let n = points.len() as f64;
        if points.len() < 3 || points.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return None;
        }
        let centre =
            (points.iter().map(|(x, _)| x).sum::<f64>() / n, points.iter().map(|(_, y)| y).sum::<f64>() / n);
        let squares: f64 = points.iter().map(|(x, _)| (x - centre.0).powi(2)).sum();
        if squares <= f64::EPSILON * centre.0.abs().max(1.0) {
            return None;
        }
        let products: f64 = points.iter().map(|(x, y)| (x - centre.0) * (y - centre.1)).sum();
        let slope = products / squares;
        let residual = |(x, y): &(f64, f64)| y - centre.1 - slope * (x - centre.0);
        let variance = points.iter().map(|point| residual(point).powi(2)).sum::<f64>() / (n - 2.0);
        Some(Regression { centre, slope, squares, variance, points: u32::try_from(points.len()).ok()? })
    }

    /// The interval of the slope at a two-sided `confidence`.
    pub fn slope_limits(&self, confidence: f64) -> Interval {
        let standard_error = (self.variance / self.squares).sqrt();
        let half = self.t(confidence) * standard_error;
        Interval { low: self.slope - half, high: self.slope + half, standard_error }
    }

    /// Where the line reaches `level`, which is above the points, with a two-sided `confidence`: at infinity at the latest where the
    /// slope may be 0; none where `level` may be among the points already. E. C. Fieller, "Some problems in interval
    /// estimation", 1954, for the mean of the line (N. R. Draper and H. Smith, "Applied Regression Analysis", 3rd edition, section 3.2).
    pub fn reaches(&self, level: f64, confidence: f64) -> Option<Interval> {
        let spread = self.t(confidence).powi(2) * self.variance;
        let above = level - self.centre.1;
        let a = self.slope.powi(2) - spread / self.squares;
        let b = self.slope * above;
        let c = above.powi(2) - spread / f64::from(self.points);
        if c <= 0.0 || above <= 0.0 {
            return None;
        }
        let root = (b * b - a * c).max(0.0).sqrt();
        // With a > 0 both roots are on the side to which the line rises; otherwise the smaller distance to the right bounds it.
        let nearest = c / (b + root);
        let furthest = if a > 0.0 && b > 0.0 { (b + root) / a } else { f64::INFINITY };
        if !nearest.is_finite() || nearest < 0.0 {
            return None;
        }
        let standard_error = (self.variance / f64::from(self.points)).sqrt() / self.slope.abs();
        Some(Interval { low: self.centre.0 + nearest, high: self.centre.0 + furthest, standard_error })
    }

    fn t(&self, confidence: f64) -> f64 {
        t_quantile(f64::midpoint(1.0, confidence), self.points - 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals 1, −2, 1 around y = 2x: slope 2, variance 6, Sxx 2, t(0.975, 1) = 12.7062.
    #[test]
    fn limits_are_those_of_the_arithmetic_on_paper() {
        let line = Regression::through(&[(1.0, 3.0), (2.0, 2.0), (3.0, 7.0)]).unwrap();
        let slope = line.slope_limits(0.95);
        assert!((line.slope - 2.0).abs() < 1e-12);
        assert!((slope.standard_error - 3f64.sqrt()).abs() < 1e-12, "{slope:?}");
        assert!((slope.high - (2.0 + 12.706_205 * 3f64.sqrt())).abs() < 1e-4, "{slope:?}");
        let reached = line.reaches(210.0, 0.95).unwrap();
        // 206² − t² · 6 / 3 = 42,113.1; 2 · 206 = 412; 4 − t² · 6 / 2 = −480.3: 42,113.1 ÷ (412 + √(412² + 480.3 · 42,113.1)).
        assert!((reached.low - (2.0 + 8.545)).abs() < 0.001, "{reached:?}");
        assert_eq!(reached.high, f64::INFINITY, "the slope may be 0");
        assert_eq!(line.reaches(5.0, 0.95), None, "it may be reached already");
    }

    #[test]
    fn the_interval_of_where_a_line_reaches_a_level_covers_it_as_often_as_promised() {
        // A small linear congruential generator: sums of twelve uniform values are close to normal ones.
        let mut state = 7u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut covered = 0;
        for _ in 0..2_000 {
            let points: Vec<(f64, f64)> = (1..=8)
                .map(|x| {
                    let noise: f64 = (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    (f64::from(x), 1.0 + 2.0 * f64::from(x) + noise)
                })
                .collect();
            let line = Regression::through(&points).unwrap();
            let reached = line.reaches(41.0, 0.95).unwrap();
            covered += u32::from(reached.low <= 20.0 && 20.0 <= reached.high);
        }
        assert!((1_860..=1_940).contains(&covered), "{covered} of 2,000 cover the truth, 1,900 expected");
    }

    #[test]
    fn equal_coordinates_and_values_that_are_not_finite_have_no_line() {
        assert_eq!(Regression::through(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Regression::through(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)]), None);
        assert_eq!(Regression::through(&[(1.0, 1.0), (2.0, 2.0)]), None);
    }
}
