//! From readings of a process, or a family of processes, to samples of its series.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::{Instant, Sample, SeriesKey};

use crate::base::Dated;
use crate::proc::ThreadTimes;
use crate::reading::{Reading, Switches};

/// Values at the instant of one reading: processes, memory, threads, descriptors, processors that they may run on.
pub(crate) fn levels(target: &str, at: Instant, reading: &Reading) -> Vec<(SeriesKey, Sample)> {
    let count = |name: &str, count: u64| sample(SeriesKey::new(name, target, "1"), at, count as f64);
    let mut samples = vec![count("processes", reading.processes), count("threads", reading.threads)];
    if let Some(memory) = reading.memory {
        let rss_bytes = memory.own as f64 + memory.shared as f64;
        samples.push(sample(SeriesKey::new("rss", target, "bytes"), at, rss_bytes));
    }
    if let Some(fds) = reading.fds {
        samples.push(count("fds", fds));
    }
    if let Some(processors) = &reading.processors {
        samples.push(count("cpus_allowed", processors.len() as u64));
    }
    samples
}

/// Rates per second between two readings of the same process: CPU time, context switches, times of threads. None when no time passed
/// between them, and none when the CPU time fell: the difference cannot be attributed.
pub(crate) fn rates(target: &str, base: Dated<&Reading>, now: Dated<&Reading>) -> Vec<(SeriesKey, Sample)> {
    let (interval, at) = (now.at.since(base.at), now.at);
    let (base, reading) = (base.reading, now.reading);
    let Some(used) = reading.cpu.checked_sub(base.cpu).filter(|_| !interval.is_zero()) else {
        return Vec::new();
    };
    let cores = used.div_duration_f64(interval);
    let mut samples = vec![sample(SeriesKey::new("cpu", target, "cores"), at, cores)];
    if let (Some(before), Some(after)) = (&base.switches, &reading.switches) {
        let (voluntary, involuntary) = switched(before, after);
        for (name, count) in [("ctx_voluntary", voluntary), ("ctx_involuntary", involuntary)] {
            let a_second = per_second(count, interval);
            samples.push(sample(SeriesKey::new(name, target, "1/s"), at, a_second));
        }
    }
    if let (Some(before), Some(after)) = (&base.thread_times, &reading.thread_times) {
        let (busiest, delayed) = of_threads(before, after);
        let [busiest, delayed] = [busiest, delayed].map(|time| time.div_duration_f64(interval));
        samples.push(sample(SeriesKey::new("busiest_thread_cpu", target, "cores"), at, busiest));
        samples.push(sample(SeriesKey::new("run_delay", target, "s/s"), at, delayed));
    }
    samples
}

/// How long the thread ran that ran the longest between two readings, and how long all of them waited for a processor; threads as of
/// [`switched`].
fn of_threads(
    before: &BTreeMap<u32, ThreadTimes>,
    after: &BTreeMap<u32, ThreadTimes>,
) -> (Duration, Duration) {
    let none = ThreadTimes { ran: Duration::ZERO, delayed: Duration::ZERO };
    after.iter().fold((Duration::ZERO, Duration::ZERO), |(longest, delayed), (tid, now)| {
        let same = |then: &&ThreadTimes| then.ran <= now.ran && then.delayed <= now.delayed;
        let then = before.get(tid).filter(same).unwrap_or(&none);
        let waited = delayed.saturating_add(now.delayed.saturating_sub(then.delayed));
        (longest.max(now.ran.saturating_sub(then.ran)), waited)
    })
}

/// Switches of all threads between two readings. A thread that was not there before counts from its start,
/// also when its number was another thread's; what a thread did after its last reading is not counted.
fn switched(before: &BTreeMap<u32, Switches>, after: &BTreeMap<u32, Switches>) -> (u64, u64) {
    let none = Switches { voluntary: 0, involuntary: 0 };
    after.iter().fold((0, 0), |(voluntary, involuntary), (tid, now)| {
        let same = |then: &&Switches| then.voluntary <= now.voluntary && then.involuntary <= now.involuntary;
        let then = before.get(tid).filter(same).unwrap_or(&none);
        (voluntary + now.voluntary - then.voluntary, involuntary + now.involuntary - then.involuntary)
    })
}

fn per_second(count: u64, interval: Duration) -> f64 {
    count as f64 / interval.as_secs_f64()
}

fn sample(key: SeriesKey, at: Instant, value: f64) -> (SeriesKey, Sample) {
    (key, Sample { at, value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proc::Memory;

    fn reading(cpu_ms: u64, switches: &[(u32, u64, u64)]) -> Reading {
        let of = |(tid, voluntary, involuntary): &(u32, u64, u64)| {
            (*tid, Switches { voluntary: *voluntary, involuntary: *involuntary })
        };
        Reading {
            cpu: Duration::from_millis(cpu_ms),
            memory: Some(Memory { own: 4000, shared: 96 }),
            processors: Some([0, 3].into()),
            threads: 2,
            processes: 1,
            fds: None,
            switches: Some(switches.iter().map(of).collect()),
            thread_times: None,
        }
    }

    fn shown(samples: &[(SeriesKey, Sample)]) -> String {
        let lines: Vec<String> = samples
            .iter()
            .map(|(key, sample)| format!("{} {} {} {}", sample.at.second(), key.name, sample.value, key.unit))
            .collect();
        lines.join("\n")
    }

    const SECOND: u64 = 1_000_000_000;

    fn dated(at: Instant, reading: &Reading) -> Dated<&Reading> {
        Dated { at, reading }
    }

    #[test]
    fn rates_are_over_the_time_that_passed() {
        let base = reading(1_000, &[(1, 100, 10), (2, 50, 0), (3, 900, 9)]);
        // Thread 3 ended, thread 4 is new, and number 2 is another thread's now.
        let after = reading(2_500, &[(1, 300, 11), (2, 8, 2), (4, 30, 3)]);
        let (base_at, at) = (Instant::EPOCH, Instant::from_nanos(2 * SECOND));
        insta::assert_snapshot!(shown(&rates("t", dated(base_at, &base), dated(at, &after))), @r"
        2 cpu 0.75 cores
        2 ctx_voluntary 119 1/s
        2 ctx_involuntary 3 1/s
        ");
        assert!(rates("t", dated(at, &base), dated(at, &after)).is_empty());
    }

    #[test]
    fn the_busiest_thread_and_the_wait_for_processors_are_of_the_threads_that_live() {
        let with = |times: &[(u32, u64, u64)]| {
            let of = |(tid, ran, delayed): &(u32, u64, u64)| {
                let [ran, delayed] = [*ran, *delayed].map(Duration::from_millis);
                (*tid, ThreadTimes { ran, delayed })
            };
            Reading { thread_times: Some(times.iter().map(of).collect()), ..reading(0, &[]) }
        };
        let base = with(&[(1, 9_000, 100), (2, 100, 50), (3, 500, 0)]);
        // Thread 3 ended, thread 4 is new, and number 2 is another thread's now.
        let after = with(&[(1, 10_200, 300), (2, 20, 10), (4, 900, 40)]);
        let (base_at, at) = (Instant::EPOCH, Instant::from_nanos(2 * SECOND));
        let all = shown(&rates("t", dated(base_at, &base), dated(at, &after)));
        assert!(all.ends_with("2 busiest_thread_cpu 0.6 cores\n2 run_delay 0.125 s/s"), "{all}");
    }

    #[test]
    fn what_cannot_be_seen_has_no_sample() {
        let samples = levels("t", Instant::from_nanos(SECOND), &reading(0, &[]));
        insta::assert_snapshot!(shown(&samples), @r"
        1 processes 1 1
        1 threads 2 1
        1 rss 4096 bytes
        1 cpus_allowed 2 1
        ");
    }

    proptest! {
        #[test]
        fn a_rate_is_never_negative(
            cpu_ms in any::<[u32; 2]>(),
            before in proptest::collection::vec((0..5_u32, any::<u32>(), any::<u32>()), 0..5),
            after in proptest::collection::vec((0..5_u32, any::<u32>(), any::<u32>()), 0..5),
            times in any::<[u64; 2]>(),
        ) {
            let wide = |threads: &[(u32, u32, u32)]| -> Vec<(u32, u64, u64)> {
                threads.iter().map(|(tid, v, i)| (*tid, u64::from(*v), u64::from(*i))).collect()
            };
            let base = reading(cpu_ms[0].into(), &wide(&before));
            let reading = reading(cpu_ms[1].into(), &wide(&after));
            let [base_at, at] = times.map(Instant::from_nanos);
            for (key, sample) in rates("t", dated(base_at, &base), dated(at, &reading)) {
                prop_assert!(sample.value >= 0.0 && sample.value.is_finite(), "{}", key.name);
            }
        }
    }
}
