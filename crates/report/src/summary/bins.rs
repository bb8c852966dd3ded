//! Counts over run time, in at most [`MAX_BINS`] bins of whole seconds.

use std::time::Duration;

use evidence::{Missing, Run, Seconds};
use figures::{Figures, SecondCounts};

/// The most points a line of a plot has.
const MAX_BINS: u32 = 300;

/// How a run is divided into bins.
#[derive(Debug, Clone, Copy)]
pub(super) struct BinGrid {
    /// Seconds per bin.
    pub bin_s: u32,
    /// Seconds of the run.
    pub seconds: u32,
}

impl BinGrid {
    fn of(seconds: u32) -> BinGrid {
        BinGrid { bin_s: seconds.div_ceil(MAX_BINS).max(1), seconds }
    }

    /// How many bins there are.
    pub(super) fn bins(self) -> usize {
        self.seconds.div_ceil(self.bin_s) as usize
    }

    /// The index of the bin that contains a second.
    pub(super) fn bin(self, second: u32) -> usize {
        (second / self.bin_s) as usize
    }

    /// The seconds of a bin; the last one may have fewer.
    pub(super) fn seconds_of(self, bin: usize) -> Seconds {
        let start = u32::try_from(bin).unwrap_or(u32::MAX).saturating_mul(self.bin_s);
        start..start.saturating_add(self.bin_s).min(self.seconds)
    }

    /// Add to the bin that contains `second`. Evidence after the last second of a run cannot come from a sound archive
    /// and is ignored.
    pub(super) fn add(self, bins: &mut [u64], second: u32, n: u64) {
        if let Some(sum) = bins.get_mut(self.bin(second)) {
            *sum += n;
        }
    }
}

/// Sums per bin.
#[derive(Debug)]
pub(super) struct Bins {
    pub grid: BinGrid,
    /// How long the run was, where it is shorter than a second.
    only_bin: Option<Duration>,
    pub scheduled: Vec<u64>,
    pub started: Vec<u64>,
    pub dropped: Vec<u64>,
    /// Successes, and responses whose outcome is not known.
    pub ok: Vec<u64>,
    pub failed: Vec<u64>,
    /// Whether any arrival was counted.
    pub has_arrivals: bool,
    /// Whether the outcome of any response is not known.
    pub has_unknown_outcomes: bool,
}

impl Bins {
    pub(super) fn of(run: &dyn Run, figures: &Figures) -> Bins {
        let (seconds, recorded) = (run.seconds(), run.recorded());
        let grid = BinGrid::of(seconds);
        let sums = |count: fn(&SecondCounts) -> u64| -> Vec<u64> {
            let mut bins = vec![0; grid.bins()];
            for (second, counts) in (0..).zip(&figures.seconds) {
                grid.add(&mut bins, second, count(counts));
            }
            bins
        };
        let lacks_outcomes = figures.missing.contains(&Missing::Outcomes);
        Bins {
            grid,
            only_bin: (recorded < Duration::from_secs(1)).then_some(recorded),
            scheduled: sums(|counts| counts.scheduled),
            started: sums(|counts| counts.started),
            dropped: sums(|counts| counts.dropped),
            ok: sums(|counts| counts.ok),
            failed: sums(|counts| counts.failed),
            has_arrivals: figures.rows.iter().any(|row| row.arrivals.is_some()),
            has_unknown_outcomes: lacks_outcomes && figures.seconds.iter().any(|counts| counts.ok > 0),
        }
    }

    /// Sums as rates per second. The last bin may be shorter than the others.
    pub(super) fn rates(&self, sums: &[u64]) -> Vec<f64> {
        let whole = |bin: usize| self.grid.seconds_of(bin).len().max(1) as f64;
        let short = self.only_bin.filter(|length| !length.is_zero());
        let length = |bin: usize| short.map_or_else(|| whole(bin), |length| length.as_secs_f64());
        sums.iter().enumerate().map(|(bin, n)| *n as f64 / length(bin)).collect()
    }
}
