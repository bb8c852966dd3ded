//! MSER-5: the cut after which the mean of the remaining values has the smallest standard error.

/// How many values make a batch.
const BATCH: usize = 5;

/// How many values at the beginning to leave out, so that the standard error of the mean of batches of five is least;
/// none where that is in the second half, where the method fails, or with fewer than four batches. Whether the rest is
/// steady is not tested.
///
/// Source: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69,
/// 1997, with batches as in K. Hoad, S. Robinson and R. Davies, "Automating warm-up length estimation", 2010.
///
/// ```
/// let warming_up: Vec<f64> = (0..100).map(|n| if n < 20 { 1.0 } else { 0.0 }).collect();
/// assert_eq!(stats::mser_5(&warming_up), Some(20));
/// ```
pub fn mser_5(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values.chunks_exact(BATCH).filter_map(crate::mean).collect();
    if batches.len() < 4 || batches.iter().any(|b| !b.is_finite()) {
        return None;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    let (mut least_error, mut cut) = (f64::INFINITY, 0);
    for (kept, (at, batch)) in batches.iter().enumerate().rev().enumerate() {
        sum += batch;
        squares += batch * batch;
        let n = (kept + 1) as f64;
        let error = (squares - sum * sum / n).max(0.0) / (n * n);
        // With a few batches left the error is a matter of chance.
        if kept >= BATCH && error <= least_error {
            (least_error, cut) = (error, at);
        }
    }
    (least_error.is_finite() && cut <= batches.len() / 2).then_some(cut * BATCH)
}
