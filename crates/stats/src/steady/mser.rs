//! MSER-5: the cut after which the mean of what is left is surest.

/// How many values make a batch.
const BATCH: usize = 5;

/// How many values at the beginning to leave out, so that the standard error of the mean of batches of five is least;
/// none where that lies in the second half, which is no answer, or with fewer than four batches. It says nothing on
/// whether what is left is steady.
///
/// Source: K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 69,
/// 1997, with batches as in K. Hoad, S. Robinson and R. Davies, "Automating warm-up length estimation", 2010.
///
/// ```
/// let settles: Vec<f64> = (0..100).map(|n| if n < 20 { 1.0 } else { 0.0 }).collect();
/// assert_eq!(stats::mser_5(&settles), Some(20));
/// ```
pub fn mser_5(values: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = values.chunks_exact(BATCH).filter_map(crate::mean).collect();
    if batches.len() < 4 || batches.iter().any(|b| !b.is_finite()) {
        return None;
    }
    let (mut sum, mut squares, mut best) = (0.0, 0.0, (f64::INFINITY, 0));
    for (kept, (at, batch)) in batches.iter().enumerate().rev().enumerate() {
        sum += batch;
        squares += batch * batch;
        let n = (kept + 1) as f64;
        let error = (squares - sum * sum / n).max(0.0) / (n * n);
        // With a handful of batches left the error is a matter of luck.
        if kept >= BATCH && error <= best.0 {
            best = (error, at);
        }
    }
    (best.0.is_finite() && best.1 <= batches.len() / 2).then_some(best.1 * BATCH)
}
