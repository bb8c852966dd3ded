//! A target that stalls: every wait that the schedule and the target's log imply is in the recorded response times, and
//! nothing else is. Service times hide most of it.
//!
//! Over one connection the target's log bounds each response time from both sides, on any machine: the engine can have
//! read an answer no earlier than the target wrote it, and no later than the target received the next request.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::{Histogram, Instant, Metric};
use testbed::{Behaviour, Served, Site};
use workload::Segment;
use workload::{HttpVersion, Scenario, Timetable};

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, WEB, at_rate, get, ms, scenario, sequence};

const PERIOD: Duration = ms(1_000);
const STALL: Duration = ms(400);
const RUN: Duration = ms(3_000);
/// Beyond this a response time shows the stall.
const LONG: Duration = ms(200);
/// What is recorded is rounded up to whole microseconds.
const ROUNDING_NS: u64 = 1_000;

/// The bounds of one response time.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    least_ns: u64,
    most_ns: u64,
}

/// A target that stalls for [`STALL`] at the end of every [`PERIOD`], and the arrivals that it is to receive.
fn stalling() -> Site<Behaviour> {
    Site::new().otherwise(Behaviour::ok()).freeze(PERIOD, STALL)
}

/// Compare, by rank: bounds of each value bound the sorted values too.
fn assert_within(measured: &Histogram, bounds: &[Bounds]) {
    let sorted = |value: fn(&Bounds) -> u64| {
        let mut values: Vec<u64> = bounds.iter().map(value).collect();
        values.sort_unstable();
        values
    };
    let (least, most) = (sorted(|b| b.least_ns), sorted(|b| b.most_ns));
    let buckets =
        measured.buckets().flat_map(|(low, high, n)| (0..n).map(move |_| (low * 1_000, high * 1_000)));
    let buckets: Vec<(u64, u64)> = buckets.collect();
    assert_eq!(buckets.len(), bounds.len());
    for (rank, (low, high)) in buckets.into_iter().enumerate() {
        assert!(high >= least[rank], "rank {rank}: recorded {low} to {high} ns, at least {} ns", least[rank]);
        let most = most[rank] + ROUNDING_NS;
        assert!(low <= most, "rank {rank}: recorded {low} to {high} ns, at most {most} ns");
    }
}

fn longer(times: &Histogram) -> u64 {
    let limit_us = LONG.as_micros() as u64;
    times.buckets().filter(|(low, _, _)| *low >= limit_us).map(|(_, _, n)| n).sum()
}

#[test]
fn response_times_are_those_of_the_targets_log_and_the_schedule() {
    let target = testbed::http(stalling()).unwrap();
    let load = scenario("s", at_rate(100.0, RUN), sequence([get("get", "/n?${iteration}")]));
    let plan = Plan::of(target.addr()).scenario(Scenario { max_vus: 300, ..load });
    let plan = plan.connecting(WEB, |c| (c.http, c.connections) = (HttpVersion::Http1, Some(1)));
    let due: BTreeMap<u64, Duration> = Timetable::new(&plan.workload, 0, Segment::WHOLE).unwrap().collect();
    let ran = Drive::new(plan.compile()).run();
    let over_ns = ran.clock.monotonic_ns(ran.clock.now());
    let run = ran.assert_sound();
    let log = target.log();
    assert_eq!((target.connections(), log.len(), due.len()), (1, 300, 300));

    let due_ns = |served: &Served| {
        let number: u64 = served.query.parse().unwrap();
        ran.clock.monotonic_ns(Instant::at(due[&number]))
    };
    let next_ns = log.iter().skip(1).map(|served| served.received_ns).chain([over_ns]);
    let bounds = log.iter().zip(next_ns).map(|(served, next_ns)| Bounds {
        least_ns: served.answered_ns.unwrap() - due_ns(served),
        most_ns: next_ns - due_ns(served),
    });
    let response = run.times(Metric::ResponseTime, |_| true);
    assert_within(&response, &bounds.collect::<Vec<_>>());

    // Everybody who is due in the first half of a stall waits for the second half and more.
    let first_ns = log[0].received_ns;
    let waits = |served: &&Served| {
        let at = Duration::from_nanos(due_ns(served).saturating_sub(first_ns));
        let into = Duration::from_nanos((at.as_nanos() % PERIOD.as_nanos()) as u64);
        (PERIOD - STALL..PERIOD - LONG).contains(&into)
    };
    let implied = log.iter().filter(waits).count() as u64;
    assert!(implied >= 40, "{implied}");
    assert!(longer(&response) >= implied, "{} of {implied}", longer(&response));
    let service = run.times(Metric::ServiceTime, |_| true);
    assert!(longer(&service) < implied / 4, "only the request under way shows the stall: {service:?}");
}
