//! Folds of runs that were filled by hand; each number follows from what was filled in.

use std::time::Duration;

use evidence::memory::MemoryRun;
use workload::Phase;

use super::*;

/// A run of two phases, 0 to 2 s and 2 to 6 s, and what it offered.
fn run() -> (MemoryRun, Workload) {
    let phase = |name: &str, start, end| Phase {
        name: name.to_owned(),
        start: Duration::from_secs(start),
        end: Duration::from_secs(end),
    };
    let phases = vec![phase("warm-up", 0, 2), phase("steady", 2, 6)];
    (MemoryRun::new(evidence::Manifest::named("")), Workload { phases, ..Workload::named("two phases") })
}

fn key(metric: Metric, phase: &str) -> Key {
    Key::of(metric).scenario("visit").phase(phase).endpoint("list")
}

#[test]
fn what_was_due_in_one_phase_and_ended_in_another_is_counted_once_in_each_way() {
    let (mut run, workload) = run();
    let times = |phase| key(Metric::ResponseTime, phase).outcome(Outcome::Ok);
    run.record(&times("warm-up"), 1, 10_000, 3);
    run.record(&times("steady"), 3, 20_000, 5);
    run.record(&key(Metric::ResponseTime, "steady").outcome(Outcome::Timeout), 4, 1_000_000, 2);
    run.record(&key(Metric::ResponseTime, "steady").outcome(Outcome::Cancelled), 5, 9_000, 1);
    let moved = key(Metric::MovedResponseTime, "warm-up").outcome(Outcome::Ok);
    run.record(&moved.tag(Key::WINDOW, "steady"), 2, 10_000, 1);
    let figures = Figures::fold(&run, &workload).expect("it is in memory");
    let counts =
        figures.rows.iter().map(|row| (&*row.key.phase, row.ok.count(), row.failed.count(), row.responses()));
    assert_eq!(counts.collect::<Vec<_>>(), [("warm-up", 3, 0, 3), ("steady", 5, 2, 8)]);
    let ended = |phase| figures.ended[&RowKey::from(&times(phase))];
    assert_eq!((ended("warm-up").ok, ended("steady").ok), (2.0, 6.0));
    assert_eq!((ended("steady").completed(), figures.in_window[1].completed), (8.0, 8));
    assert_eq!((figures.in_window[0].completed, figures.in_window[1].cancelled), (2, 1));
    let by_second: Vec<u64> = figures.seconds.iter().map(SecondCounts::completed).collect();
    assert_eq!(by_second, [0, 3, 0, 5, 2, 0], "what moved is not counted again");
}

#[test]
fn requests_that_iterations_begin_after_their_phase_are_counted_where_they_belong_and_where_they_began() {
    let (mut run, workload) = run();
    run.add(&key(Metric::Requests, "warm-up"), 1, 40);
    run.add(&key(Metric::Requests, "steady"), 3, 90);
    for (phase, window, second, count) in [("warm-up", "steady", 2, 7), ("steady", "", 6, 4)] {
        run.add(&key(Metric::MovedRequests, phase).tag(Key::WINDOW, window), second, count);
    }
    let figures = Figures::fold(&run, &workload).expect("it is in memory");
    let counts = figures.in_window.iter().map(|of| (of.begun, of.begun_by_earlier, of.begun_after));
    // 40 − 7, and 90 + 7 − 4.
    assert_eq!(counts.collect::<Vec<_>>(), [(33, 0, 7), (93, 7, 4)]);
}

#[test]
fn arrivals_belong_to_their_row_their_scenario_and_their_second() {
    let (mut run, workload) = run();
    for (metric, count) in
        [(Metric::Scheduled, 10), (Metric::Started, 7), (Metric::DroppedCap, 2), (Metric::DroppedLate, 1)]
    {
        run.add(&key(metric, "steady"), 3, count);
    }
    run.add(&key(Metric::Requests, "steady"), 3, 7);
    run.add(&key(Metric::CheckFailed, "steady").tag("check", "body"), 3, 4);
    let figures = Figures::fold(&run, &workload).expect("it is in memory");
    let [row] = &figures.rows[..] else { panic!("one row: {:?}", figures.rows) };
    assert_eq!(row.arrivals, Some(Arrivals { scheduled: 10, started: 7, dropped_cap: 2, dropped_late: 1 }));
    assert_eq!((row.requests, row.failed_by_target(), row.infinitely_slow()), (Some(7), 2, 3));
    assert_eq!((row.checks["body"].passed, row.checks["body"].failed), (0, 4));
    let [scenario_phase] = &figures.scenario_phases[..] else { panic!("one scenario in one phase") };
    assert_eq!((scenario_phase.scheduled, scenario_phase.dropped()), (10, 3));
    let second = SecondCounts { scheduled: 10, started: 7, dropped: 3, ok: 0, failed: 0 };
    assert_eq!(figures.seconds[3], second);
}

#[test]
fn the_total_of_a_phase_has_the_histograms_of_its_rows_in_one() {
    let (mut run, workload) = run();
    let of = |endpoint: &str, outcome| {
        Key::of(Metric::ResponseTime).scenario("visit").phase("steady").endpoint(endpoint).outcome(outcome)
    };
    // Ninety at 1 ms and ten at 100 ms: the median of the slow endpoint has no part in that of all.
    run.record(&of("list", Outcome::Ok), 3, 1_000, 90);
    run.record(&of("search", Outcome::Ok), 3, 100_000, 10);
    run.record(&of("search", Outcome::Timeout), 4, 1_000_000, 4);
    for (endpoint, n) in [("list", 9_000), ("search", 700)] {
        let key = Key::of(Metric::BytesIn).scenario("visit").phase("steady").endpoint(endpoint);
        run.add(&key, 3, n);
    }
    // A sequence of both: one arrival that was dropped is a request less of each.
    let whole = Key::of(Metric::DroppedCap).scenario("visit").phase("steady");
    run.add(&whole, 3, 1);
    let figures = Figures::fold(&run, &workload).expect("it is in memory");
    let [total] = &figures.phase_totals()[..] else { panic!("one phase has rows") };
    let quantile = |q| total.row.ok.quantile(q).finite_us();
    assert_eq!((total.row.ok.count(), total.row.failed.count()), (100, 4));
    assert_eq!(total.row.ok.max_us(), figures.rows.iter().filter_map(|row| row.ok.max_us()).max());
    assert!(quantile(0.5).is_some_and(|us| us < 1_001.0), "{:?}", quantile(0.5));
    assert!(quantile(0.89).is_some_and(|us| us < 1_001.0) && quantile(0.91).is_some_and(|us| us > 99_900.0));
    assert_eq!((total.ended.ok, total.ended.completed()), (100.0, 104.0));
    assert_eq!(total.row.bytes_in, Some(9_700));
    assert_eq!(total.row.arrivals.map(|arrivals| arrivals.dropped()), Some(1));
}
