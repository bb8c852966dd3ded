//! Arrivals that are not started are counted as dropped, in the right second and endpoint.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use engine::{EndpointIndex, LATE_AFTER};
use evidence::{Metric, Outcome};
use testbed::Behaviour;
use workload::schedule::Schedule;
use workload::{Executor, Scenario, Step};

use crate::accounting::Accounting;
use crate::drive::{Drive, drive};
use crate::plan::{Plan, Tuned, at_rate, get, mix, ms, scenario, sequence};
use crate::scripts::{Resume, Script, send};

#[test]
fn arrivals_without_a_free_virtual_user_are_dropped_in_the_second_they_were_due() {
    let target = testbed::http(Behaviour::after(ms(300))).unwrap();
    let steps = mix([(1, get("a", "/a")), (1, get("b", "/b"))]);
    let load = scenario("s", at_rate(60.0, ms(2_500)), steps);
    let schedule = Schedule::new(&load.executor).unwrap();
    let plan = Plan::of(target.addr()).scenario(Scenario { max_vus: 3, ..load });
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    let dropped = run.all(Metric::DroppedCap) + run.all(Metric::DroppedLate);
    assert_eq!(run.all(Metric::Scheduled), 150);
    assert_eq!(run.all(Metric::Started), target.requests());
    assert_eq!(dropped, 150 - target.requests());
    // Three virtual users with requests of 300 ms can start at most so many in 2.5 s.
    assert!(target.requests() <= 3 * 9, "{} were started", target.requests());
    let second = |n: u64| (Duration::from_secs(n), Duration::from_secs(n + 1));
    for n in 0..3 {
        let (from, to) = second(n);
        let at = |metric| run.by_second(metric).get(&(n as u32)).copied().unwrap_or(0);
        assert_eq!(at(Metric::Scheduled), schedule.arrivals_between(from, to));
        assert_eq!(
            at(Metric::Scheduled),
            at(Metric::Started) + at(Metric::DroppedCap) + at(Metric::DroppedLate)
        );
    }
    // A dropped arrival of a mix is counted for the endpoint that it drew.
    for endpoint in ["a", "b"] {
        assert!(run.count(Metric::DroppedCap, |key| &*key.endpoint == endpoint) > 0);
    }
    assert_eq!(run.outcomes("a").keys().chain(run.outcomes("b").keys()).copied().max(), Some(Outcome::Ok));
}

/// Arrival number [`BLOCKS`] stops the loop's thread for [`BLOCKED`].
struct Blocking;

const BLOCKS: u64 = 5;
const BLOCKED: Duration = ms(1_500);

impl UserBehaviour for Blocking {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(Blocking) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for Blocking {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(Blocking)
    }

    fn endpoint_of(&self, _arrival: u64) -> Option<EndpointIndex> {
        Some(EndpointIndex(0))
    }
}

impl Iteration for Blocking {
    fn resume(&mut self, event: Event<'_>, _context: &mut Context<'_>) -> Progress {
        if matches!(event, Event::Begin(arrival) if arrival.number == BLOCKS) {
            let (_open, never) = channel::<()>();
            assert!(never.recv_timeout(BLOCKED).is_err());
        }
        Progress::DONE
    }
}

#[test]
fn arrivals_missed_by_a_stopped_generator_are_dropped_as_late() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(3_000)), mix([(1, get("a", "/"))])));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(Blocking)).run();
    let run = ran.assert_sound();
    assert_eq!((run.all(Metric::Scheduled), target.requests()), (300, 0));
    // The loop continued no earlier than 1.55 s into the run. Arrivals due until a second before that, and after
    // the arrival that stopped it, were too late: numbers 6 to 54.
    assert!(run.all(Metric::DroppedLate) >= 49, "{} dropped", run.all(Metric::DroppedLate));
    assert_eq!(run.all(Metric::DroppedCap), 0);
    let lag = run.times(Metric::StartLag, |_| true);
    let limit_us = LATE_AFTER.as_micros() as u64;
    assert!(lag.max_us().unwrap() > limit_us * 9 / 10, "start lag shows the delay: {lag:?}");
    assert!(
        lag.max_us().unwrap() <= limit_us * 1_001 / 1_000,
        "beyond the limit nothing is started: {lag:?}"
    );
    let stall = run.times(Metric::LoopStall, |_| true);
    assert!(stall.max_us().unwrap() >= BLOCKED.as_micros() as u64, "{stall:?}");
    // They count in the second in which they were due: the first.
    assert!(run.by_second(Metric::DroppedLate)[&0] >= 49);
}

#[test]
fn arrivals_that_have_no_time_left_are_dropped_as_late_and_not_sent() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let step = || get("a", "/").within(ms(300));
    for flow in [sequence([step()]), mix([(1, step()), (1, get("b", "/").within(ms(300)))])] {
        let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(500)), flow));
        let ran = Drive::new(plan.compile()).late_by(ms(900)).run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::Scheduled), run.all(Metric::DroppedLate)), (50, 50));
        assert_eq!(target.requests(), 0);
    }
}

#[test]
fn virtual_users_that_begin_too_late_begin_anew() {
    const LIMIT: Duration = ms(2_000);
    for (think, iterations, dropped) in [(ms(0), 2, 4), (ms(3_000), 1, 0)] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let step = Step { think: think.into(), ..get("a", "/").within(LIMIT) };
        let each = Executor::PerVuIterations { vus: 4, iterations, max_duration: ms(600_000) };
        let plan = Plan::of(target.addr()).scenario(scenario("s", each, sequence([step])));
        let ran = Drive::new(plan.compile()).late_by(LIMIT + ms(200)).run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::Scheduled), run.all(Metric::DroppedLate)), (4 * iterations, dropped));
        assert_eq!(run.outcomes("a"), [(Outcome::Ok, 4 * iterations - dropped)].into());
    }
}

#[test]
fn an_arrival_has_the_time_of_the_step_that_its_virtual_user_sends_first() {
    const SHORT: Duration = ms(2_000);
    const LONG: Duration = ms(60_000);
    for (login, main, dropped) in [(LONG, SHORT, 0), (SHORT, LONG, 4)] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let each = Executor::PerVuIterations { vus: 4, iterations: 2, max_duration: ms(600_000) };
        let load = scenario("s", each, sequence([get("a", "/").within(main)]));
        let load = Scenario { setup: vec![get("login", "/login").within(login)], ..load };
        let ran = Drive::new(Plan::of(target.addr()).scenario(load).compile()).late_by(SHORT + ms(200)).run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::Scheduled), run.all(Metric::DroppedLate)), (8, dropped), "{login:?}");
        assert_eq!(run.outcomes("login"), [(Outcome::Ok, 4)].into());
        assert_eq!(run.outcomes("a"), [(Outcome::Ok, 8 - dropped)].into());
    }
}

/// One virtual user waits for a timer, the other stops the loop meanwhile.
struct TimerBehindBlock;

const TIMER: Duration = ms(100);

impl UserBehaviour for TimerBehindBlock {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(TimerBehindBlock) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for TimerBehindBlock {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(TimerBehindBlock)
    }
}

impl Iteration for TimerBehindBlock {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        match event {
            Event::Begin(arrival) if arrival.number == 0 => {
                context.timer(1, arrival.due + TIMER);
                Progress::WAITING
            }
            Event::Begin(_) => {
                let (_open, never) = channel::<()>();
                assert!(never.recv_timeout(BLOCKED).is_err());
                Progress::DONE
            }
            _ => Progress::DONE,
        }
    }
}

#[test]
fn the_lag_of_timers_is_recorded_beside_that_of_arrivals() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let each = Executor::PerVuIterations { vus: 2, iterations: 1, max_duration: ms(600_000) };
    let plan = Plan::of(target.addr()).scenario(scenario("s", each, sequence([get("a", "/")])));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(TimerBehindBlock)).run();
    let run = ran.assert_sound();
    let lag = run.times(Metric::StepLag, |key| &*key.scenario == "s" && &*key.phase == "all");
    assert_eq!((lag.count(), run.times(Metric::StartLag, |_| true).count()), (1, 2));
    assert!(lag.max_us().unwrap() >= (BLOCKED - TIMER).as_micros() as u64, "{lag:?}");
}

#[test]
fn a_step_whose_time_limit_passed_before_the_generator_sent_it_is_cancelled_and_no_timeout() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let resume: Resume = |state, event, context| match event {
        Event::Begin(_) if state.number == 0 => {
            context.timer(1, state.due + TIMER);
            Progress::WAITING
        }
        Event::Begin(_) => {
            let (_open, never) = channel::<()>();
            assert!(never.recv_timeout(BLOCKED).is_err());
            Progress::DONE
        }
        Event::TimerFired(_) => {
            let draft = send(state, "/", context);
            (draft.due, draft.deadline) = (state.due + TIMER, state.due + TIMER + ms(300));
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let each = Executor::PerVuIterations { vus: 2, iterations: 1, max_duration: ms(600_000) };
    let plan = Plan::of(target.addr()).scenario(scenario("s", each, sequence([get("a", "/")])));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run();
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("a"), [(Outcome::Cancelled, 1)].into());
    assert_eq!((run.all(Metric::IterationsDone), run.all(Metric::IterationsCancelled)), (1, 1));
    assert_eq!((target.requests(), run.times(Metric::StepLag, |_| true).count()), (0, 1));
    // The target has no part in how long it has waited: no part of that is known to be a violation.
    let ages = [Metric::ResponseTime, Metric::CutIterationAge]
        .map(|metric| run.times(metric, |key| key.outcome == Some(Outcome::Cancelled)).max_us());
    assert_eq!(ages, [Some(0), Some(0)]);
}
