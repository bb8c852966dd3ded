//! A run that is drained, abandoned, or over.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use engine::{Control, EngineError};
use evidence::{Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Target};
use workload::{Executor, Scenario, VuStage};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun, HANG, drive};
use crate::exhaustion::AbortsAt;
use crate::plan::{Plan, RPC, at_rate, call, closed, get, ms, ramp, scenario, sequence};

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
    second.think = ms(600_000).into();
    let plan = Plan::of(target.addr());
    let plan = plan.scenario(scenario("s", closed(2, ms(600_000)), sequence([get("first", "/"), second])));
    let ran = stopped(plan, 1, &Stop { target: &target, requests: 2, stop: Control::abandon });
    let run = ran.assert_sound();
    assert_eq!((run.all(Metric::Requests), run.all(Metric::IterationsCancelled)), (2, 2));
}

fn executors() -> [Executor; 6] {
    const LONG: Duration = ms(600_000);
    let to = vec![VuStage { to: 4, over: LONG }];
    [
        at_rate(100.0, LONG),
        ramp(10.0, &[(100.0, LONG)]),
        closed(4, LONG),
        Executor::RampingVus { start_vus: 2, stages: to, graceful_ramp_down: LONG },
        Executor::PerVuIterations { vus: 4, iterations: 9, max_duration: LONG },
        Executor::SharedIterations { vus: 4, iterations: 9, max_duration: LONG },
    ]
}

/// A scenario of this executor that starts later than any test waits.
fn far_away(executor: Executor) -> Scenario {
    Scenario { start: ms(900_000), ..scenario("later", executor, sequence([get("later", "/later")])) }
}

#[test]
fn a_run_that_is_stopped_before_it_begins_ends_at_once() {
    for (stop, executor) in executors().into_iter().flat_map(|executor| {
        [Control::drain, Control::abandon].map(|stop: fn(&Control)| (stop, executor.clone()))
    }) {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let drive = Drive::new(Plan::of(target.addr()).scenario(far_away(executor)).compile());
        stop(&drive.control());
        let ran = drive.run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::Scheduled), target.requests()), (0, 0));
    }
}

#[test]
fn a_scenario_that_has_not_begun_does_not_keep_a_stopped_run_going() {
    for (executor, loops) in executors().into_iter().zip([1, 2].into_iter().cycle()) {
        for stop in [Control::drain, Control::abandon] {
            let target = testbed::http(Behaviour::ok()).unwrap();
            let plan = Plan::of(target.addr())
                .scenario(scenario("now", at_rate(50.0, ms(600_000)), sequence([get("now", "/")])))
                .scenario(far_away(executor.clone()));
            let ran = stopped(plan, loops, &Stop { target: &target, requests: 3, stop });
            let run = ran.assert_sound();
            assert_eq!(run.all(Metric::Requests), target.requests());
            assert_eq!(run.count(Metric::Scheduled, |key| &*key.scenario == "later"), 0);
        }
    }
}

/// Ends a loop by a panic at this arrival.
struct PanicsAt(u64);

impl UserBehaviour for PanicsAt {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(PanicsAt(self.0)) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for PanicsAt {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(PanicsAt(self.0))
    }
}

impl Iteration for PanicsAt {
    fn resume(&mut self, event: Event<'_>, _context: &mut Context<'_>) -> Progress {
        assert!(!matches!(event, Event::Begin(arrival) if arrival.number == self.0), "as the test asks");
        Progress::DONE
    }
}

#[test]
fn a_loop_that_fails_ends_the_others() {
    for executor in executors() {
        let behaviours: [Arc<dyn UserBehaviour>; 2] = [Arc::new(AbortsAt(20)), Arc::new(PanicsAt(20))];
        for behaviour in behaviours {
            let target = testbed::http(Behaviour::ok()).unwrap();
            let plan = Plan::of(target.addr())
                .scenario(scenario("now", at_rate(100.0, ms(600_000)), sequence([get("now", "/")])))
                .scenario(far_away(executor.clone()));
            let ran = Drive::new(plan.compile()).loops(2).behaviour(behaviour).run();
            assert!(
                matches!(&ran.result, Err(EngineError::Aborted(why)) if why == "enough")
                    || matches!(&ran.result, Err(EngineError::Loop(why)) if why == "it panicked"),
                "{:?}",
                ran.result
            );
        }
    }
}
