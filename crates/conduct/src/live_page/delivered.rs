//! How much of a run a page shows: the seconds that every loop has delivered. Of a later one the file has the load of some
//! loops alone, which looks like a load that falls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use evidence::delivered::DeliveredSeconds;
use evidence::sink::{Sink, SinkError};
use evidence::{Observed, RunEnd, Tick};

/// Follows the ticks that are recorded; what it knows is in the file.
pub(crate) struct DeliveredWatch {
    delivered: DeliveredSeconds,
    complete: Arc<AtomicU32>,
}

impl DeliveredWatch {
    /// Of a run with so many loops; `complete` is set to its complete seconds.
    pub(super) fn new(loops: u16, complete: Arc<AtomicU32>) -> DeliveredWatch {
        DeliveredWatch { delivered: DeliveredSeconds::new(loops), complete }
    }
}

impl Sink for DeliveredWatch {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.delivered.take(tick);
        Ok(())
    }

    fn observed(&mut self, _observed: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.complete.store(self.delivered.complete(), Ordering::Relaxed);
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ::report::{Reported as _, Summary, document};
    use evidence::memory::MemoryRun;
    use evidence::{Instance, Key, KeyId, Manifest, Metric, Outcome, Run as _};
    use workload::{Phase, Workload};

    use super::super::until_over::until_over;
    use super::*;

    const LOOPS: u16 = 3;
    const PER_LOOP: u64 = 33;

    /// A second of a loop that began 33 requests and got a response to each within 5 ms.
    fn tick(index: u16, second: u32) -> Tick {
        let mut tick = Tick::default();
        (tick.instance, tick.second) = (Instance::of_loop(index), second);
        tick.state.covered_ns = (u64::from(second) + 1) * 1_000_000_000;
        let of = |metric| Key::of(metric).scenario("play").phase("steady").endpoint("list");
        let counted = [Metric::Scheduled, Metric::Started, Metric::Requests];
        let keys = counted.map(of).into_iter().chain([of(Metric::ResponseTime).outcome(Outcome::Ok)]);
        let keys = keys.enumerate().map(|(id, key)| (KeyId(id as u32), key));
        tick.new_keys = if second == 0 { keys.collect() } else { Vec::new() };
        (0..3).for_each(|key| tick.add(KeyId(key), second, PER_LOOP));
        (0..PER_LOOP).for_each(|_| tick.record_ns(KeyId(3), 5_000_000));
        tick
    }

    fn summary(run: &MemoryRun, complete: &AtomicU32) -> Summary {
        let steady = Phase {
            name: "steady".to_owned(),
            start: std::time::Duration::ZERO,
            end: std::time::Duration::from_secs(20),
        };
        let workload = Workload { phases: vec![steady], ..Workload::named("shop") };
        let is_over = AtomicBool::new(false);
        let run = until_over(run, &is_over, complete.load(Ordering::Relaxed));
        let judgement = judge::judgement_so_far(&run, &workload).unwrap();
        Summary::of(&run, &workload, &judgement).unwrap().so_far()
    }

    #[test]
    fn a_second_that_one_of_three_loops_has_not_delivered_is_neither_counted_nor_drawn() {
        let complete = Arc::new(AtomicU32::new(0));
        let mut run = MemoryRun::new(Manifest::named("shop"));
        let mut watch = DeliveredWatch::new(LOOPS, complete.clone());
        let mut take = |run: &mut MemoryRun, tick: &Tick| {
            for sink in [run as &mut dyn Sink, &mut watch] {
                sink.tick(tick).unwrap();
                sink.flush().unwrap();
            }
        };
        (0..2).for_each(|index| take(&mut run, &tick(index, 0)));
        assert_eq!(complete.load(Ordering::Relaxed), 0, "the third has delivered nothing");
        take(&mut run, &tick(2, 0));
        for second in 1..5 {
            (0..LOOPS).for_each(|index| take(&mut run, &tick(index, second)));
        }
        (0..2).for_each(|index| take(&mut run, &tick(index, 5)));
        assert_eq!((run.seconds(), complete.load(Ordering::Relaxed)), (6, 5));
        let late = summary(&run, &complete);
        assert_eq!(late.outcomes.completed(), 5 * u64::from(LOOPS) * PER_LOOP);
        assert_eq!(late.headline.as_ref().unwrap().throughput_per_s, Some(99.0));
        assert_eq!(late.timeline.ok, [99.0; 5]);
        assert_eq!(late.timeline.arrivals.as_ref().unwrap().offered, [99.0; 5]);
        assert!(document::html(&late.document()).contains("5 s of 20 s"));
        take(&mut run, &tick(2, 5));
        assert_eq!(summary(&run, &complete).timeline.ok, [99.0; 6]);
        for index in 0..LOOPS {
            let mut last = tick(index, 6);
            last.is_last = true;
            take(&mut run, &last);
        }
        assert_eq!(summary(&run, &complete).timeline.ok, [99.0; 7], "nothing more will come");
    }
}
