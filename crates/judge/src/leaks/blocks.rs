//! A series cut into blocks that are long enough to be independent of each other.

use evidence::Sample;

/// With fewer blocks no test is made.
pub(super) const MIN_BLOCKS: usize = 12;
/// More blocks add nothing.
const MAX_BLOCKS: usize = 40;
/// Length of a block, in autocorrelation times.
const TIMES: f64 = 5.0;
/// Samples of longer series are averaged, so that the cost of the analysis is bounded.
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
    /// None for fewer than two samples.
    pub(super) fn of(samples: &[Sample]) -> Option<Blocks> {
        let (first, last) = (samples.first()?, samples.last()?);
        let length_s = last.at.since(first.at).as_secs_f64();
        if samples.len() < 2 || length_s <= 0.0 {
            return None;
        }
        let values = averaged(samples);
        let block = (TIMES * autocorrelation_time(&values)).ceil() as usize;
        let block = block.max(values.len().div_ceil(MAX_BLOCKS)).max(1);
        // The remainder is left out at the beginning, which is the likeliest to be warm-up.
        let start = values.len() % block;
        let medians = values[start..].chunks(block).filter_map(|block| stats::quantile(block, 0.5)).collect();
        Some(Blocks { medians, length_s })
    }

    pub(super) fn block_s(&self) -> f64 {
        self.length_s / self.medians.len().max(1) as f64
    }
}

fn averaged(samples: &[Sample]) -> Vec<f64> {
    let width = samples.len().div_ceil(MAX_SAMPLES);
    let mean = |chunk: &[Sample]| chunk.iter().map(|sample| sample.value).sum::<f64>() / chunk.len() as f64;
    samples.chunks(width).map(mean).collect()
}

/// The integrated autocorrelation time of the residuals of a straight line, in samples; at least 1. Without removing
/// the line, a steady leak would make every value depend on the one before.
fn autocorrelation_time(values: &[f64]) -> f64 {
    let residuals = stats::residuals(values);
    let variance: f64 = residuals.iter().map(|r| r * r).sum();
    // A perfect line, up to rounding.
    if variance <= 1e-18 * values.iter().map(|v| v * v).sum::<f64>() {
        return 1.0;
    }
    let mut time = 1.0;
    for lag in 1..values.len() / 2 {
        let pairs = residuals.iter().zip(&residuals[lag..]);
        let correlation = pairs.map(|(a, b)| a * b).sum::<f64>() / variance;
        if correlation < NOISE {
            break;
        }
        time += 2.0 * correlation;
    }
    time
}
