//! A straight line through a series, and the error of its slope.

use crate::sample::mean;
use crate::student::t_quantile;

/// A series with a larger lag-1 correlation cannot be distinguished from a trend.
const MAX_CORRELATION: f64 = 0.95;

/// How much a series rises from end to end.
pub(crate) struct Rise {
    pub(crate) change: f64,
    /// Half of its 95 % interval; infinite with too few values.
    pub(crate) half_width: f64,
}

/// The line of least squares through values at 0, 1, 2 …
struct LeastSquaresLine {
    mean: f64,
    slope: f64,
    /// The sum of squares of the indices' distances from their mean.
    index_squares: f64,
}

impl LeastSquaresLine {
    fn through(values: &[f64]) -> LeastSquaresLine {
        let mean = mean(values).unwrap_or(0.0);
        let index_squares: f64 = (0..values.len()).map(|at| from_middle(values, at).powi(2)).sum();
        let products: f64 =
            values.iter().enumerate().map(|(at, v)| from_middle(values, at) * (v - mean)).sum();
        let index_squares = index_squares.max(f64::MIN_POSITIVE);
        LeastSquaresLine { mean, slope: products / index_squares, index_squares }
    }
}

fn from_middle(values: &[f64], at: usize) -> f64 {
    at as f64 - (values.len().saturating_sub(1)) as f64 / 2.0
}

/// The rise of the line of least squares. Its error is widened by `√((1 + r) / (1 − r))` of the lag-1 correlation r of
/// the residuals (as for the mean of an autoregressive series: G. E. P. Box and G. M. Jenkins, "Time Series Analysis",
/// 1970, section 2.1).
pub(crate) fn rise(values: &[f64]) -> Rise {
    let n = values.len();
    if n < 4 {
        return Rise { change: 0.0, half_width: f64::INFINITY };
    }
    let line = LeastSquaresLine::through(values);
    let rest = residuals(values);
    let squares: f64 = rest.iter().map(|r| r * r).sum();
    let correlation =
        rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares.max(f64::MIN_POSITIVE);
    let correlation = correlation.clamp(0.0, MAX_CORRELATION);
    let error =
        (squares / (n - 2) as f64 / line.index_squares * (1.0 + correlation) / (1.0 - correlation)).sqrt();
    let t = t_quantile(0.975, u32::try_from(n - 2).unwrap_or(u32::MAX));
    let steps = (n - 1) as f64;
    Rise { change: line.slope * steps, half_width: t * error * steps }
}

/// The residuals of the line of least squares through `values`, which are at 0, 1, 2 …
///
/// ```
/// assert_eq!(stats::residuals(&[1.0, 2.0, 3.0, 4.0]), [0.0; 4]);
/// ```
pub fn residuals(values: &[f64]) -> Vec<f64> {
    let line = LeastSquaresLine::through(values);
    let residual = |(at, v): (usize, &f64)| v - line.mean - line.slope * from_middle(values, at);
    values.iter().enumerate().map(residual).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_correlation_widens_its_interval() {
        let exact: Vec<f64> = (0..20).map(|n| f64::from(n) * 0.1).collect();
        let line = rise(&exact);
        assert!((line.change - 1.9).abs() < 1e-9 && line.half_width < 1e-6);
        let quick: Vec<f64> = (0..40).map(|n| f64::from(n % 2)).collect();
        let slow: Vec<f64> = (0..40).map(|n| f64::from(n / 5 % 2)).collect();
        assert!(rise(&slow).half_width > 2.0 * rise(&quick).half_width);
        assert_eq!(rise(&[1.0, 2.0]).half_width, f64::INFINITY);
    }
}
