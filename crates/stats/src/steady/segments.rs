//! A series cut into segments of one level each.

use super::clean::Batches;
use crate::sample::quantile;

/// What a further segment must reduce the error by, in noise variances.
const PENALTY: f64 = 30.0;
/// The noise is at least this: histograms do not resolve smaller shares.
const MIN_NOISE: f64 = 0.005;
/// A larger correlation of neighbours cannot be distinguished from a level that changes.
const MAX_CORRELATION: f64 = 0.5;
/// The shortest segment, in seconds.
const SHORTEST_S: usize = 10;
/// The median absolute value of a standard normal number.
const MEDIAN_SIZE: f64 = 0.674_49;

/// What the noise of batches is taken to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Noise {
    Independent,
    /// Noise that wanders.
    Correlated,
}

/// Batches of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Segment {
    /// The index of its first batch.
    pub(super) from: usize,
    /// The mean of its batches.
    pub(super) level: f64,
}

/// The segments of least squared error, each of which costs [`PENALTY`].
pub(super) fn of(batches: &Batches, noise: Noise) -> Vec<Segment> {
    let values = &batches.cleaned;
    let shortest = SHORTEST_S.div_ceil(batches.width_s).max(1);
    let sums = Sums::of(values);
    let penalty = PENALTY
        * match noise {
            Noise::Independent => independent_noise(values),
            Noise::Correlated => correlated_noise(values),
        };
    let n = values.len();
    // The least cost of the first `end` batches, and where the last segment of that solution begins.
    let mut costs = vec![f64::INFINITY; n + 1];
    let mut begins = vec![0; n + 1];
    costs[0] = -penalty;
    for end in shortest.min(n)..=n {
        for begin in 0..=end.saturating_sub(shortest) {
            let cost = costs[begin] + sums.error(begin, end) + penalty;
            if cost < costs[end] {
                (costs[end], begins[end]) = (cost, begin);
            }
        }
    }
    let mut segments = Vec::new();
    let mut end = n;
    while end > 0 {
        let from = begins[end];
        segments.push(Segment { from, level: sums.mean(from, end) });
        end = from;
    }
    segments.reverse();
    segments
}

/// The variance of noise, if values are independent: from the median difference between neighbours, so that a level that
/// changes once does not count as noise.
fn independent_noise(values: &[f64]) -> f64 {
    (median_difference(values, 1).powi(2) / 2.0).max(MIN_NOISE.powi(2))
}

/// The variance of noise, as it counts in the mean of many values of a first-order autoregressive series:
/// `σ² (1 + r) / (1 − r)`. Both σ² and r are taken from the median differences between neighbours, `2σ² (1 − r)`, and
/// between next neighbours, `2σ² (1 − r²)`.
fn correlated_noise(values: &[f64]) -> f64 {
    let [near, next] = [1, 2].map(|lag| median_difference(values, lag).powi(2));
    let correlation = (next / near.max(f64::MIN_POSITIVE) - 1.0).clamp(0.0, MAX_CORRELATION);
    let variance = near / 2.0 / (1.0 - correlation);
    (variance * (1.0 + correlation) / (1.0 - correlation)).max(MIN_NOISE.powi(2))
}

/// The standard deviation of differences between values `lag` apart, from their median size.
fn median_difference(values: &[f64], lag: usize) -> f64 {
    let pairs = values.iter().zip(values.iter().skip(lag));
    let differences: Vec<f64> = pairs.map(|(one, other)| (other - one).abs()).collect();
    quantile(&differences, 0.5).unwrap_or(0.0) / MEDIAN_SIZE
}

/// Running sums of values and of their squares.
struct Sums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn of(values: &[f64]) -> Sums {
        // Differences from the median, so that squares of a high level lose no precision.
        let middle = quantile(values, 0.5).unwrap_or(0.0);
        let mut sums = Sums { values: vec![middle], squares: vec![0.0] };
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in values {
            sum += value - middle;
            squares += (value - middle).powi(2);
            sums.values.push(sum);
            sums.squares.push(squares);
        }
        sums
    }

    fn sum(&self, from: usize, to: usize) -> f64 {
        let before = if from == 0 { 0.0 } else { self.values[from] };
        self.values[to] - before
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        self.values[0] + self.sum(from, to) / (to - from) as f64
    }

    fn error(&self, from: usize, to: usize) -> f64 {
        let sum = self.sum(from, to);
        (self.squares[to] - self.squares[from] - sum * sum / (to - from) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(values: Vec<f64>) -> Vec<Segment> {
        of(&Batches { width_s: 5, means: values.clone(), cleaned: values }, Noise::Independent)
    }

    #[test]
    fn a_series_is_cut_where_its_level_changes() {
        let segments =
            cut((0..60).map(|n| if n < 23 { 7.0 } else { 7.3 } + f64::from(n % 2) * 0.01).collect());
        assert_eq!(segments.iter().map(|s| s.from).collect::<Vec<_>>(), [0, 23]);
        assert!((segments[0].level - 7.005).abs() < 0.001 && (segments[1].level - 7.305).abs() < 0.001);
        assert_eq!(cut(vec![3.0; 40]), [Segment { from: 0, level: 3.0 }]);
        assert_eq!(cut(vec![3.0]), [Segment { from: 0, level: 3.0 }]);
    }
}
