//! A straight line through a series, and how sure its slope is.

use crate::student::t_quantile;

/// What remembers more than this cannot be told from a trend.
const MOST_MEMORY: f64 = 0.95;

/// How much a series rises from end to end.
pub(super) struct Line {
    pub(super) change: f64,
    /// Half of its 95 % interval; infinite with too few values.
    pub(super) half_width: f64,
}

/// The line of least squares. Its error is widened by what each value remembers of the one before it: by
/// `√((1 + r) / (1 − r))` of the lag-1 correlation r of what is left (as for the mean of an autoregressive series:
/// G. E. P. Box and G. M. Jenkins, "Time Series Analysis", 1970, section 2.1).
pub(super) fn through(values: &[f64]) -> Line {
    let n = values.len();
    if n < 4 {
        return Line { change: 0.0, half_width: f64::INFINITY };
    }
    let (slope, across) = slope(values);
    let rest = rest(values);
    let squares: f64 = rest.iter().map(|r| r * r).sum();
    let memory = rest.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / squares.max(f64::MIN_POSITIVE);
    let memory = memory.clamp(0.0, MOST_MEMORY);
    let error = (squares / (n - 2) as f64 / across * (1.0 + memory) / (1.0 - memory)).sqrt();
    let t = t_quantile(0.975, u32::try_from(n - 2).unwrap_or(u32::MAX));
    let steps = (n - 1) as f64;
    Line { change: slope * steps, half_width: t * error * steps }
}

/// What is left of values when the line is taken out.
pub(super) fn rest(values: &[f64]) -> Vec<f64> {
    let mean = crate::mean(values).unwrap_or(0.0);
    let (slope, _) = slope(values);
    let middle = (values.len().saturating_sub(1)) as f64 / 2.0;
    values.iter().enumerate().map(|(at, v)| v - mean - slope * (at as f64 - middle)).collect()
}

/// The slope by value, and the sum of squares of the places.
fn slope(values: &[f64]) -> (f64, f64) {
    let middle = (values.len().saturating_sub(1)) as f64 / 2.0;
    let mean = crate::mean(values).unwrap_or(0.0);
    let place = |at: usize| at as f64 - middle;
    let across: f64 = (0..values.len()).map(|at| place(at).powi(2)).sum();
    let along: f64 = values.iter().enumerate().map(|(at, v)| place(at) * (v - mean)).sum();
    (along / across.max(f64::MIN_POSITIVE), across.max(f64::MIN_POSITIVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_memory_widens_its_interval() {
        let exact: Vec<f64> = (0..20).map(|n| f64::from(n) * 0.1).collect();
        let line = through(&exact);
        assert!((line.change - 1.9).abs() < 1e-9 && line.half_width < 1e-6);
        let quick: Vec<f64> = (0..40).map(|n| f64::from(n % 2)).collect();
        let slow: Vec<f64> = (0..40).map(|n| f64::from(n / 5 % 2)).collect();
        assert!(through(&slow).half_width > 2.0 * through(&quick).half_width);
        assert_eq!(through(&[1.0, 2.0]).half_width, f64::INFINITY);
    }
}
