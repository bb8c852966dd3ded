//! When the generator stalled, second by second: how much of each second its stalls may have disturbed.

use evidence::run::{ReadError, select};
use evidence::{DISTURBED_STALLS, Metric, Run, STALL};

/// Shorter turns of a loop are no stall, in microseconds.
const STALL_US: u64 = STALL.as_micros() as u64;
/// A stall and what it disturbs take at most so many times its own length.
const REACH: u64 = 1 + DISTURBED_STALLS as u64;
const SECOND_US: u64 = 1_000_000;

/// How much of each second stalls may have disturbed, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct DisturbedTime {
    by_second: Vec<u64>,
    /// Whether the run counts the arrivals that were disturbed.
    are_counted: bool,
}

impl DisturbedTime {
    /// Of a run.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub(crate) fn of(run: &dyn Run) -> Result<DisturbedTime, ReadError> {
        let manifest = run.manifest();
        let are_counted = manifest.source.is_some() || manifest.counts_perturbed();
        let mut time = DisturbedTime { by_second: vec![0; run.seconds() as usize], are_counted };
        for (id, _) in select(run.keys(), Metric::LoopStall, |_| true) {
            for (second, turns) in run.histograms(id, run.whole())? {
                let long = turns.buckets().filter(|(low, ..)| *low >= STALL_US);
                time.add(second as usize, long.map(|(_, high, count)| high * count).sum());
            }
        }
        Ok(time)
    }

    /// Stalls that ended in `second`. Where in it is not known, nor when they began.
    fn add(&mut self, second: usize, stalled_us: u64) {
        let whole_seconds = |us: u64| us.div_ceil(SECOND_US) as usize;
        let from = second.saturating_sub(whole_seconds(stalled_us));
        let to = second + whole_seconds(stalled_us * (REACH - 1)) + 1;
        let reached = self.by_second.iter_mut().take(to).skip(from).filter(|_| stalled_us > 0);
        for disturbed in reached {
            *disturbed = (*disturbed + stalled_us * REACH).min(SECOND_US);
        }
    }

    /// The share of `second` that may have been disturbed.
    pub(super) fn share(&self, second: u32) -> f64 {
        self.by_second.get(second as usize).copied().unwrap_or(0) as f64 / SECOND_US as f64
    }

    /// Whether everything that ended in `second` may have been disturbed, in a run that does not count what was.
    pub(super) fn may_hide(&self, second: u32) -> bool {
        !self.are_counted && self.share(second) > 0.0
    }

    /// Whether the run counts what stalls disturbed.
    pub(super) fn is_counted(&self) -> bool {
        self.are_counted
    }

    /// Whether there is a second of which [`DisturbedTime::may_hide`] is true.
    pub(crate) fn hides_any(&self) -> bool {
        !self.are_counted && self.by_second.iter().any(|us| *us > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_stall_disturbs_eleven_times_its_length_around_it() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(10));
        test_run.run.record(&evidence::Key::of(Metric::LoopStall), 30, 2_000, 5);
        test_run.run.record(&evidence::Key::of(Metric::LoopStall), 50, 900, 100);
        let time = DisturbedTime::of(&test_run.run).unwrap();
        let shares: Vec<f64> = (28..33).map(|second| time.share(second)).collect();
        assert_eq!(shares, [0.0, 0.11, 0.11, 0.11, 0.0]);
        assert_eq!((time.share(50), time.share(1_000)), (0.0, 0.0), "too short to be a stall");
        assert!(!time.may_hide(30), "this version of the file counts what was disturbed");
    }
}
