//! A run that is drained, abandoned, or over.

use std::thread;

use engine::Control;
use evidence::{Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Target};
use workload::Scenario;

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun, HANG, drive};
use crate::plan::{Plan, RPC, at_rate, call, closed, get, ms, scenario, sequence};

/// When and how a run is stopped.
struct Stop<'a> {
    target: &'a Target,
    /// How many requests the target must have received.
    requests: usize,
    stop: fn(&Control),
}

/// Run until the target has received enough requests, then stop the run. Only that ends it: its scenarios would wait
/// for their iterations longer than any test.
fn stopped(mut plan: Plan, loops: u16, when: &Stop<'_>) -> FinishedRun {
    for scenario in &mut plan.workload.scenarios {
        scenario.graceful_stop = ms(600_000);
    }
    let drive = Drive::new(plan.compile()).loops(loops);
    let control = drive.control();
    thread::scope(|scope| {
        let running = scope.spawn(|| drive.run());
        let is_busy = when.target.wait_for(HANG, |log| log.len() >= when.requests);
        (when.stop)(&control);
        assert!(is_busy);
        running.join().unwrap()
    })
}

#[test]
fn draining_starts_nothing_more_and_lets_everything_finish() {
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::after(ms(50))).unwrap();
        let plan = Plan::of(target.addr())
            .scenario(scenario(
                "users",
                closed(4, ms(600_000)),
                sequence([get("users", "/"), get("then", "/")]),
            ))
            .scenario(scenario("open", at_rate(100.0, ms(600_000)), sequence([get("open", "/")])));
        let ran = stopped(plan, loops, &Stop { target: &target, requests: 40, stop: Control::drain });
        let run = ran.assert_sound();
        assert_eq!(run.all(Metric::IterationsCancelled), 0);
        assert_eq!(run.all(Metric::Requests), target.requests());
        for endpoint in ["users", "then", "open"] {
            assert_eq!(run.outcomes(endpoint).keys().collect::<Vec<_>>(), [&Outcome::Ok], "{endpoint}");
        }
    }
}

#[test]
fn abandoning_cancels_what_is_under_way() {
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::never()).unwrap();
        let plan = Plan::of(target.addr())
            .scenario(scenario("users", closed(4, ms(600_000)), sequence([get("users", "/")])))
            .scenario(scenario("open", at_rate(1_000.0, ms(600_000)), sequence([get("open", "/")])));
        let ran = stopped(plan, loops, &Stop { target: &target, requests: 40, stop: Control::abandon });
        let run = ran.assert_sound();
        assert_eq!(run.all(Metric::IterationsDone), 0);
        assert_eq!(run.all(Metric::IterationsCancelled), run.all(Metric::Started));
        assert!(run.all(Metric::Started) >= 40);
        for endpoint in ["users", "open"] {
            assert_eq!(
                run.outcomes(endpoint).keys().collect::<Vec<_>>(),
                [&Outcome::Cancelled],
                "{endpoint}"
            );
        }
        let kept = evidence::Run::exemplars(run).unwrap();
        assert!(kept.is_empty(), "cancelled requests have no exemplars: {kept:?}");
    }
}

#[test]
fn abandoning_cancels_calls_that_share_a_connection_and_calls_that_wait_for_one() {
    let target = testbed::grpc(GrpcBehaviour::Never).unwrap();
    // More calls than one connection has capacity for.
    let plan = Plan::new().grpc(RPC, target.addr());
    let plan = plan.scenario(scenario("s", closed(150, ms(600_000)), sequence([call("Never", "x")])));
    let ran = stopped(plan, 1, &Stop { target: &target, requests: 100, stop: Control::abandon });
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("Never"), [(Outcome::Cancelled, 150)].into());
    let sent = run.times(Metric::ServiceTime, |_| true).count();
    assert_eq!((sent, target.requests()), (100, 100));
}

#[test]
fn abandoning_after_draining_ends_what_does_not_finish() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let plan = Plan::of(target.addr());
    let plan = plan.scenario(scenario("s", closed(3, ms(600_000)), sequence([get("s", "/")])));
    let drain_and_abandon = |control: &Control| {
        control.drain();
        control.abandon();
        // Draining after abandoning has no effect.
        control.drain();
    };
    let ran = stopped(plan, 1, &Stop { target: &target, requests: 3, stop: drain_and_abandon });
    assert_eq!(ran.assert_sound().outcomes("s"), [(Outcome::Cancelled, 3)].into());
}

#[test]
fn iterations_that_outlive_their_scenarios_end_are_cancelled_after_its_graceful_stop() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let brief = |s: Scenario| Scenario { graceful_stop: ms(200), ..s };
    let plan = Plan::of(target.addr())
        .scenario(brief(scenario("open", at_rate(50.0, ms(200)), sequence([get("open", "/")]))))
        .scenario(brief(scenario("users", closed(2, ms(300)), sequence([get("users", "/")]))));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("open"), [(Outcome::Cancelled, 10)].into());
    assert_eq!(run.outcomes("users"), [(Outcome::Cancelled, 2)].into());
    let waited = run.times(Metric::ResponseTime, |key| &*key.endpoint == "open");
    assert!(waited.min_us().unwrap() >= 200_000, "the last was due before the end: {waited:?}");
}

#[test]
fn think_time_is_cancelled_too() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut second = get("second", "/second");
    second.think = ms(600_000);
    let plan = Plan::of(target.addr());
    let plan = plan.scenario(scenario("s", closed(2, ms(600_000)), sequence([get("first", "/"), second])));
    let ran = stopped(plan, 1, &Stop { target: &target, requests: 2, stop: Control::abandon });
    let run = ran.assert_sound();
    assert_eq!((run.all(Metric::Requests), run.all(Metric::IterationsCancelled)), (2, 2));
}

#[test]
fn a_run_that_is_stopped_before_it_begins_ends_at_once() {
    for stop in [Control::drain, Control::abandon] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let plan = Plan::of(target.addr());
        let late = scenario("s", at_rate(100.0, ms(600_000)), sequence([get("s", "/")]));
        let drive = Drive::new(plan.scenario(Scenario { start: ms(60_000), ..late }).compile());
        stop(&drive.control());
        let ran = drive.run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::Scheduled), target.requests()), (0, 0));
    }
}
