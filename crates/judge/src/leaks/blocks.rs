//! A series cut into blocks that are long enough to be independent of each other, within the lives of its process.

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

/// The medians of the blocks of a series, one list for each life of its process.
pub(super) struct Blocks {
    pub(super) lives: Vec<Vec<f64>>,
    /// From the first sample to the last.
    pub(super) length_s: f64,
    block_s: f64,
}

impl Blocks {
    /// None for fewer than two samples.
    pub(super) fn of(lives: &[&[Sample]]) -> Option<Blocks> {
        let (first, last) = (lives.first()?.first()?, lives.last()?.last()?);
        let length_s = last.at.since(first.at).as_secs_f64();
        let count: usize = lives.iter().map(|life| life.len()).sum();
        if count < 2 || length_s <= 0.0 {
            return None;
        }
        let width = count.div_ceil(MAX_SAMPLES);
        let averaged: Vec<Vec<f64>> = lives.iter().map(|life| averaged(life, width)).collect();
        let values: usize = averaged.iter().map(Vec::len).sum();
        let block = (TIMES * autocorrelation_time(&averaged)).ceil() as usize;
        let block = block.max(values.div_ceil(MAX_BLOCKS)).max(1);
        // The remainder is left out at the beginning, which is the likeliest to be warm-up.
        let medians = |life: &Vec<f64>| -> Vec<f64> {
            let start = life.len() % block;
            life[start..].chunks(block).filter_map(|block| stats::quantile(block, 0.5)).collect()
        };
        let block_s = length_s / (count - 1) as f64 * (width * block) as f64;
        Some(Blocks { lives: averaged.iter().map(medians).collect(), length_s, block_s })
    }

    /// How many independent values they are.
    pub(super) fn count(&self) -> usize {
        self.lives.iter().map(Vec::len).sum()
    }

    /// Steps from one block to the next, within lives.
    pub(super) fn steps(&self) -> usize {
        self.lives.iter().map(|life| life.len().saturating_sub(1)).sum()
    }

    /// The median of all.
    pub(super) fn level(&self) -> f64 {
        stats::quantile(&self.lives.concat(), 0.5).unwrap_or(0.0)
    }

    pub(super) fn block_s(&self) -> f64 {
        self.block_s
    }
}

fn averaged(samples: &[Sample], width: usize) -> Vec<f64> {
    let mean = |chunk: &[Sample]| chunk.iter().map(|sample| sample.value).sum::<f64>() / chunk.len() as f64;
    samples.chunks(width).map(mean).collect()
}

/// The integrated autocorrelation time of the residuals of a straight line through each life, in samples; at least 1.
/// Without removing the line, a steady leak would make every value depend on the one before.
fn autocorrelation_time(lives: &[Vec<f64>]) -> f64 {
    let residuals: Vec<Vec<f64>> = lives.iter().map(|life| stats::residuals(life)).collect();
    let squares = |lives: &[Vec<f64>]| lives.iter().flatten().map(|v| v * v).sum::<f64>();
    let variance = squares(&residuals);
    // A perfect line, up to rounding.
    if variance <= 1e-18 * squares(lives) {
        return 1.0;
    }
    let longest = residuals.iter().map(Vec::len).max().unwrap_or(0);
    let mut time = 1.0;
    for lag in 1..longest / 2 {
        let pairs = residuals.iter().flat_map(|life| life.iter().zip(life.iter().skip(lag)));
        let correlation = pairs.map(|(a, b)| a * b).sum::<f64>() / variance;
        if correlation < NOISE {
            break;
        }
        time += 2.0 * correlation;
    }
    time
}
