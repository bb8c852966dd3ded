//! When the generator stalled, second by second: how much of each second its stalls may have disturbed, and what they may
//! have done to requests.

use evidence::run::{ReadError, select};
use evidence::{DISTURBED_STALLS, Metric, Outcome, Run, STALL, Seconds};
use workload::Workload;

/// Shorter turns of a loop are not stall, in microseconds.
const STALL_US: u64 = STALL.as_micros() as u64;
/// A stall and what it disturbs take at most so many times its own length.
const REACH: u64 = 1 + DISTURBED_STALLS as u64;
const SECOND_US: u64 = 1_000_000;

/// How much of each second stalls may have disturbed, in microseconds.
#[derive(Debug, Default)]
pub(crate) struct DisturbedTime {
    by_second: Vec<u64>,
    /// What was recorded in each second.
    seconds: Vec<StalledSecond>,
    /// For how many seconds after its own a stall has effects at most.
    longest_reach_s: usize,
    /// Whether the run counts the arrivals that were disturbed.
    are_counted: bool,
}

/// What stalls did in one second.
#[derive(Debug, Clone, Copy, Default)]
struct StalledSecond {
    /// How long they took together.
    stalled_us: u64,
    /// Requests that they moved: started late, or after one that a stall disturbed.
    moved: u64,
}

/// What stalls may have done to requests of some seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StallEffect {
    /// Each may have been delayed by so much, in microseconds: by the stalls and what they disturbed.
    pub(super) delay_us: u64,
    /// The first second whose stalls may have.
    pub(super) since: u32,
}

impl DisturbedTime {
    /// Of a run of this plan.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub(crate) fn read(run: &dyn Run, workload: &Workload) -> Result<DisturbedTime, ReadError> {
        let manifest = run.manifest();
        let are_counted = manifest.source.is_some() || manifest.counts_perturbed();
        let seconds = run.seconds() as usize;
        let mut time = DisturbedTime {
            by_second: vec![0; seconds],
            seconds: vec![StalledSecond::default(); seconds],
            longest_reach_s: 1,
            are_counted,
        };
        for (id, _) in select(run.keys(), Metric::LoopStall, |_| true) {
            for (second, turns) in run.histograms(id, run.whole())? {
                let long = turns.buckets().filter(|(low, ..)| *low >= STALL_US);
                time.add(second as usize, long.map(|(_, high, count)| high * count).sum());
            }
        }
        time.add_moved(run, workload)?;
        Ok(time)
    }

    fn add_moved(&mut self, run: &dyn Run, workload: &Workload) -> Result<(), ReadError> {
        let is_closed = workload.scenarios.iter().any(|scenario| !scenario.executor.is_open());
        let continues = !workload.scenarios.iter().all(|scenario| scenario.flow.is_one_request());
        let is_followed = |outcome: Outcome| is_closed || continues && outcome.is_answer();
        for (id, key) in run.keys() {
            let from_us = match (key.metric, key.outcome) {
                (Metric::StartLag | Metric::StepLag, _) => STALL_US,
                (Metric::PerturbedResponseTime, Some(outcome)) if is_followed(outcome) => 0,
                _ => continue,
            };
            for (second, times) in run.histograms(*id, run.whole())? {
                if let Some(stalled) = self.seconds.get_mut(second as usize) {
                    let moved = times.buckets().filter(|(_, high, _)| *high >= from_us);
                    stalled.moved += moved.map(|(.., count)| count).sum::<u64>();
                }
            }
        }
        Ok(())
    }

    /// Stalls that ended in `second`. Where in it is not known, nor when they began.
    fn add(&mut self, second: usize, stalled_us: u64) {
        if let Some(stalled) = self.seconds.get_mut(second) {
            stalled.stalled_us += stalled_us;
            self.longest_reach_s = self.longest_reach_s.max(stalled.reach_s());
        }
        let from = second.saturating_sub(whole_seconds(stalled_us));
        let to = second + whole_seconds(stalled_us * (REACH - 1)) + 1;
        let reached = self.by_second.iter_mut().take(to).skip(from).filter(|_| stalled_us > 0);
        for disturbed in reached {
            *disturbed = (*disturbed + stalled_us * REACH).min(SECOND_US);
        }
    }

    /// What stalls may have done to requests that ended in `ended` and took `longest_us` at most.
    ///
    /// A stall's effect ends when as many requests are in flight as before it, at most ten lengths of the stall later. What a
    /// target had begun before then, it would have ended that much earlier at most; what it does later is as if there
    /// had been no stall.
    pub(super) fn effect(&self, ended: Seconds, longest_us: u64) -> StallEffect {
        let due = (ended.start as usize).saturating_sub(whole_seconds(longest_us));
        let first = due.saturating_sub(self.longest_reach_s);
        let mut effect = StallEffect { delay_us: 0, since: ended.start };
        for (at, stalled) in self.seconds.iter().enumerate().take(ended.end as usize).skip(first) {
            if at + stalled.reach_s() >= due {
                effect.delay_us += stalled.stalled_us * REACH;
                effect.since = effect.since.min(at as u32);
            }
        }
        effect
    }

    /// How many requests were sent at another time than without stalls, in these seconds.
    pub(super) fn moved(&self, seconds: Seconds) -> u64 {
        let range = seconds.start as usize..(seconds.end as usize).min(self.seconds.len());
        self.seconds.get(range).unwrap_or_default().iter().map(|stalled| stalled.moved).sum()
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

impl StalledSecond {
    /// For how many seconds after this one its stalls have effects at most; one at least, since a turn of a loop may have
    /// begun in the second before.
    fn reach_s(&self) -> usize {
        whole_seconds(self.stalled_us * (REACH - 1)).max(1)
    }
}

fn whole_seconds(us: u64) -> usize {
    us.div_ceil(SECOND_US) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_stall_disturbs_eleven_times_its_length_around_it() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        test_run.run.record(&evidence::Key::of(Metric::LoopStall), 30, 2_000, 5);
        test_run.run.record(&evidence::Key::of(Metric::LoopStall), 50, 900, 100);
        let time = DisturbedTime::read(&test_run.run, &test_run.workload).unwrap();
        let shares: Vec<f64> = (28..33).map(|second| time.share(second)).collect();
        assert_eq!(shares, [0.0, 0.11, 0.11, 0.11, 0.0]);
        assert_eq!((time.share(50), time.share(1_000)), (0.0, 0.0), "too short to be a stall");
        assert!(!time.may_hide(30), "this version of the file counts what was disturbed");
    }

    #[test]
    fn a_stall_delays_requests_whose_life_its_effect_reaches() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        test_run.run.record(&evidence::Key::of(Metric::LoopStall), 30, 8_000, 1);
        test_run.run.record(&evidence::Key::of(Metric::LoopStall), 50, 250_000, 1);
        let late = evidence::Key::of(Metric::StartLag).scenario("play").phase("steady");
        test_run.run.record(&late, 30, 8_000, 3);
        let time = DisturbedTime::read(&test_run.run, &test_run.workload).unwrap();
        let high = |us| evidence::Histogram::bucket_of(us).1;
        let effect = |second, longest_us| {
            let StallEffect { delay_us, since } = time.effect(second..second + 1, longest_us);
            (delay_us, since)
        };
        let [short, long] = [8_000, 250_000].map(|us| 11 * high(us));
        assert_eq!([effect(30, 5), effect(32, 900_000)], [(short, 28), (short, 30)]);
        assert_eq!([effect(29, 900_000).0, effect(33, 900_000).0], [0; 2], "it was not begun, or over");
        assert_eq!(
            [effect(50, 5).0, effect(54, 5).0, effect(55, 5).0],
            [long, long, 0],
            "2.5 s after its end"
        );
        assert_eq!(effect(50, 20_000_000).0, short + long);
        assert_eq!(
            [time.moved(30..31), time.moved(0..100), time.moved(31..33), time.moved(90..95)],
            [3, 3, 0, 0]
        );
    }
}
