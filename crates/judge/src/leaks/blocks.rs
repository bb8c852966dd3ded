//! A series cut into blocks that are long enough to be independent of each other.

use evidence::Sample;

/// Fewer blocks than this bear no test.
pub(super) const MIN_BLOCKS: usize = 12;
/// More blocks than this add nothing.
const MAX_BLOCKS: usize = 40;
/// A block is so many times as long as the series remembers.
const TIMES: f64 = 5.0;
/// Samples of longer series are joined, so that what it takes to look at them is bounded.
const MAX_SAMPLES: usize = 2_000;
/// Correlation below this is noise.
const NOISE: f64 = 0.05;

/// The medians of a series' blocks.
pub(super) struct Blocks {
    pub(super) medians: Vec<f64>,
    /// From the first sample to the last.
    pub(super) length_s: f64,
}

impl Blocks {
    /// None of fewer than two samples.
    pub(super) fn of(samples: &[Sample]) -> Option<Blocks> {
        let (first, last) = (samples.first()?, samples.last()?);
        let length_s = last.at.since(first.at).as_secs_f64();
        if samples.len() < 2 || length_s <= 0.0 {
            return None;
        }
        let values = joined(samples);
        let block = (TIMES * memory(&values)).ceil() as usize;
        let block = block.max(values.len().div_ceil(MAX_BLOCKS)).max(1);
        // What is left over at the beginning is left out: it is the likeliest to be warm-up.
        let start = values.len() % block;
        let medians = values[start..].chunks(block).filter_map(|block| stats::quantile(block, 0.5)).collect();
        Some(Blocks { medians, length_s })
    }

    pub(super) fn block_s(&self) -> f64 {
        self.length_s / self.medians.len().max(1) as f64
    }
}

fn joined(samples: &[Sample]) -> Vec<f64> {
    let width = samples.len().div_ceil(MAX_SAMPLES);
    let mean = |chunk: &[Sample]| chunk.iter().map(|sample| sample.value).sum::<f64>() / chunk.len() as f64;
    samples.chunks(width).map(mean).collect()
}

/// The integrated autocorrelation time of what is left when a straight line is taken out, in samples; at least 1. A
/// line, because otherwise a leak would be all memory.
fn memory(values: &[f64]) -> f64 {
    let n = values.len();
    let middle = (n - 1) as f64 / 2.0;
    let mean = values.iter().sum::<f64>() / n as f64;
    let place = |at: usize| at as f64 - middle;
    let across: f64 = (0..n).map(|at| place(at).powi(2)).sum();
    let slope =
        values.iter().enumerate().map(|(at, v)| place(at) * (v - mean)).sum::<f64>() / across.max(1e-300);
    let rest: Vec<f64> = values.iter().enumerate().map(|(at, v)| v - mean - slope * place(at)).collect();
    let variance: f64 = rest.iter().map(|r| r * r).sum();
    // Nothing but a line, to rounding.
    if variance <= 1e-18 * values.iter().map(|v| v * v).sum::<f64>() {
        return 1.0;
    }
    let mut time = 1.0;
    for lag in 1..n / 2 {
        let pairs = rest.iter().zip(&rest[lag..]);
        let correlation = pairs.map(|(a, b)| a * b).sum::<f64>() / variance;
        if correlation < NOISE {
            break;
        }
        time += 2.0 * correlation;
    }
    time
}
