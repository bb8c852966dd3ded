//! Requests that were under way while the generator stalled are counted once more; what is in flight at the end has its age.

use std::sync::Arc;
use std::sync::mpsc::channel;

use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use engine::{DryRun, EndpointIndex};
use evidence::{Metric, Outcome};
use testbed::Behaviour;

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, at_rate, get, ms, scenario, sequence};

/// Sends one request; arrival number `at` does that after it has kept its loop from everything else for 60 ms.
#[derive(Clone, Copy)]
struct Stalling {
    at: u64,
    then: AfterStall,
}

#[derive(Clone, Copy, PartialEq)]
enum AfterStall {
    Send,
    Abort,
}

impl UserBehaviour for Stalling {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(*self) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for Stalling {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(*self)
    }
}

impl Iteration for Stalling {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        let Event::Begin(arrival) = event else { return Progress::DONE };
        if arrival.number == self.at {
            if self.then == AfterStall::Abort {
                return Progress::Abort("enough".to_owned());
            }
            let (_open, never) = channel::<()>();
            assert!(never.recv_timeout(ms(60)).is_err());
        }
        let draft = context.request(0);
        draft.endpoint = EndpointIndex(0);
        draft.due = arrival.due;
        draft.deadline = arrival.due + ms(30_000);
        draft.method.extend_from_slice(b"GET");
        draft.path.extend_from_slice(b"/");
        Progress::WAITING
    }
}

#[test]
fn requests_under_way_during_a_stall_are_counted_once_more() {
    let target = testbed::http(Behaviour::after(ms(5))).unwrap();
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(800)), sequence([get("a", "/")])));
    let stalling = Stalling { at: 20, then: AfterStall::Send };
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(stalling)).run();
    let run = ran.assert_sound();
    let (all, perturbed) =
        (run.times(Metric::ResponseTime, |_| true), run.times(Metric::PerturbedResponseTime, |_| true));
    assert_eq!((all.count(), target.requests()), (80, 80));
    // The arrival that stalled its loop, and those due within the 60 ms.
    assert!((7..=80).contains(&perturbed.count()), "{} of 80", perturbed.count());
    assert!(perturbed.max_us().unwrap() >= 60_000);
    let is_among =
        |(low, _, count): (u64, u64, u64)| all.buckets().any(|(other, _, all)| other == low && all >= count);
    assert!(perturbed.buckets().all(is_among), "{perturbed:?} of {all:?}");
    let iterations = run.times(Metric::PerturbedIterationTime, |key| key.outcome == Some(Outcome::Ok));
    assert_eq!(iterations.count(), perturbed.count());
}

#[test]
fn what_is_in_flight_at_the_end_has_its_age() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(9_000)), sequence([get("a", "/")])));
    let stalling = Stalling { at: 30, then: AfterStall::Abort };
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(stalling)).run();
    assert!(ran.result.is_err());
    let ages = |of: &str| ran.run.times(Metric::InFlightAge, |key| &*key.endpoint == of);
    let (requests, iterations) = (ages("a"), ages(""));
    // Arrivals due every 10 ms, the first 300 ms before the one that ends the run.
    assert_eq!((requests.count(), iterations.count()), (30, 31));
    assert!(
        requests.max_us().unwrap() >= 300_000 && requests.max_us() == iterations.max_us(),
        "{requests:?}"
    );
}

/// The machine may stall any of the attempts.
#[test]
fn the_time_before_a_setup_begins_is_no_stall() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let perturbed = || {
        let load = scenario("s", at_rate(10.0, ms(100)), sequence([get("a", "/")]));
        let plan = Plan::of(target.addr()).setup(vec![get("login", "/login")]).scenario(load);
        let dry_run = DryRun::new(plan.compile());
        let (_open, never) = channel::<()>();
        assert!(never.recv_timeout(ms(50)).is_err());
        let ran = Drive::new(dry_run.set_up().unwrap().into_program()).run();
        let of_setup = |metric| ran.run.times(metric, |key| &*key.endpoint == "login").count();
        assert_eq!(of_setup(Metric::ResponseTime), 1);
        of_setup(Metric::PerturbedResponseTime)
    };
    assert!((0..20).any(|_| perturbed() == 0));
}
