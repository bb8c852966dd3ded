//! The engine never waits for its recorder, and loses no count by it.

use std::thread;

use engine::{EngineError, Exhausted};
use evidence::Metric;
use evidence::tick_channel::Received;
use testbed::Behaviour;

use crate::accounting::Accounting;
use crate::drive::{Drive, HANG, empty_run, record, record_and};
use crate::plan::{Plan, at_rate, closed, get, ms, scenario, sequence};

#[test]
fn a_run_without_a_recorder_ends_with_an_error() {
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let plan = Plan::of(target.addr());
        let plan = plan.scenario(scenario("s", at_rate(50.0, ms(600_000)), sequence([get("s", "/")])));
        let ran = Drive::new(plan.compile()).loops(loops).run_recorded_by(|inlets| {
            drop(inlets);
            empty_run()
        });
        assert!(matches!(ran.result, Err(EngineError::RecorderGone)), "{:?}", ran.result);
    }
}

#[test]
fn a_recorder_that_ends_for_one_loop_ends_all_loops() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr());
    let plan = plan.scenario(scenario("s", at_rate(50.0, ms(600_000)), sequence([get("s", "/")])));
    let ran = Drive::new(plan.compile()).loops(2).run_recorded_by(|mut inlets| {
        inlets.truncate(1);
        record(&inlets)
    });
    assert!(matches!(ran.result, Err(EngineError::RecorderGone)), "{:?}", ran.result);
    ran.run.assert_counts_add_up();
}

#[test]
fn a_recorder_that_lags_loses_no_count() {
    let target = testbed::http(Behaviour::after(ms(3))).unwrap();
    let plan = Plan::of(target.addr())
        .scenario(scenario("open", at_rate(100.0, ms(8_000)), sequence([get("open", "/open")])))
        .scenario(scenario("users", closed(2, ms(8_000)), sequence([get("users", "/users")])));
    // It takes nothing until the load is nearly over, which is more seconds than ticks fit into the exchange.
    let is_late = || target.wait_for(HANG, |log| log.iter().filter(|s| s.path == "/open").count() >= 780);
    let mut covered_ns = 0;
    let ran = Drive::new(plan.compile()).run_recorded_by(|inlets| {
        assert!(is_late());
        record_and(&inlets, &mut |tick| covered_ns += tick.state.covered_ns)
    });
    let run = ran.assert_sound();
    assert!(ran.result.as_ref().unwrap().folded_ticks >= 2, "{:?}", ran.result);
    assert_eq!(run.all(Metric::Scheduled), run.all(Metric::Started) + run.all(Metric::DroppedLate));
    assert_eq!(run.all(Metric::Requests), target.requests());
    assert_eq!(run.times(Metric::ResponseTime, |_| true).count(), target.requests());
    // Arrivals count in the second in which they were due, also those of folded ticks.
    assert!((0..8).all(|second| run.by_second(Metric::Scheduled)[&second] >= 100));
    // A tick's state of the loop covers all the seconds that were folded into it.
    assert!(covered_ns >= 7_990_000_000, "the ticks cover {covered_ns} ns of a run of 8 s");
}

#[test]
fn an_aborted_run_hands_over_what_it_measured() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr());
    let plan = plan.scenario(scenario("s", at_rate(50.0, ms(600_000)), sequence([get("s", "/")])));
    let behaviour = std::sync::Arc::new(crate::exhaustion::AbortsAt(20));
    let ran = Drive::new(plan.compile()).behaviour(behaviour).run();
    assert!(matches!(&ran.result, Err(EngineError::Aborted(why)) if why == "enough"), "{:?}", ran.result);
    assert_eq!(ran.run.all(Metric::Scheduled), 21);
    assert_eq!(ran.run.all(Metric::IterationsDone), 20);
}

#[test]
fn errors_contain_advice() {
    let error = EngineError::from(Exhausted::Descriptors).to_string();
    assert!(error.contains("ulimit -n"), "{error}");
}

/// The recorder's side of the exchange ends when the loop does.
#[test]
fn the_exchange_is_over_when_the_run_is() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr());
    let plan = plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([get("s", "/")])));
    let ran = Drive::new(plan.compile()).run_recorded_by(|inlets| {
        let mut ticks = 0;
        loop {
            match inlets[0].take() {
                Received::Tick(_) => ticks += 1,
                Received::Empty => thread::park_timeout(ms(5)),
                Received::Closed => break,
            }
        }
        assert!(ticks >= 1);
        empty_run()
    });
    assert!(ran.result.is_ok());
}
