//! An iteration is a state machine that may have several things in flight at once.

use std::sync::{Arc, Mutex};

use engine::EndpointIndex;
use engine::exchange::OperationName;
use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use evidence::{Instant, Metric, Outcome};
use testbed::{Behaviour, Site, Target};

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, at_rate, closed, get, ms, scenario, sequence};

/// What each iteration asks for at its beginning.
#[derive(Clone, Copy)]
enum FirstRequests {
    TwoRequests,
    RequestAndTimer,
}

/// Asks for two operations at once and is done when both have ended.
struct Pair {
    first: FirstRequests,
    /// The order in which they ended, by iteration.
    ended: Arc<Mutex<Vec<Vec<OperationName>>>>,
}

impl UserBehaviour for Pair {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios
            .iter()
            .map(|_| Box::new(Pair { first: self.first, ended: self.ended.clone() }) as Box<dyn UserMaker>)
            .collect()
    }
}

impl UserMaker for Pair {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(PairIteration { first: self.first, number: 0, ended: Vec::new(), all: self.ended.clone() })
    }
}

struct PairIteration {
    first: FirstRequests,
    number: u64,
    ended: Vec<OperationName>,
    all: Arc<Mutex<Vec<Vec<OperationName>>>>,
}

impl PairIteration {
    fn send(&self, name: OperationName, path: &str, due: Instant, context: &mut Context<'_>) {
        let draft = context.request(name);
        draft.endpoint = EndpointIndex(name as usize);
        draft.due = due;
        draft.deadline = due + ms(30_000);
        draft.method.extend_from_slice(b"GET");
        draft.path.extend_from_slice(format!("{path}?{}", self.number).as_bytes());
    }

    fn note(&mut self, name: OperationName) -> Progress {
        self.ended.push(name);
        if self.ended.len() < 2 {
            return Progress::WAITING;
        }
        self.all.lock().unwrap().push(std::mem::take(&mut self.ended));
        Progress::DONE
    }
}

impl Iteration for PairIteration {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        match event {
            Event::Begin(arrival) => {
                self.number = arrival.number;
                self.send(0, "/first", arrival.due, context);
                match self.first {
                    FirstRequests::TwoRequests => self.send(1, "/second", arrival.due, context),
                    FirstRequests::RequestAndTimer => context.timer(1, arrival.due + ms(40)),
                }
                Progress::WAITING
            }
            Event::Completed { name, response, .. } => {
                assert_eq!(response.status, 200);
                self.note(name)
            }
            Event::TimerFired(name) => self.note(name),
            Event::TurnBegan | Event::Received { .. } => unreachable!("it never asks for that"),
        }
    }
}

fn target(first: Behaviour) -> Target {
    testbed::http(Site::new().at("/first", first).at("/second", Behaviour::after(ms(300)))).unwrap()
}

#[test]
fn two_requests_of_one_iteration_are_in_flight_at_the_same_time() {
    let target = target(Behaviour::after(ms(300)));
    let steps = sequence([get("first", "/first"), get("second", "/second")]);
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(40.0, ms(500)), steps));
    let ended = Arc::new(Mutex::new(Vec::new()));
    let pair = Pair { first: FirstRequests::TwoRequests, ended: ended.clone() };
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(pair)).run();
    let run = ran.assert_sound();
    let log = target.log();
    let mut overlapping = 0;
    for n in 0..20 {
        let of = |path: &str| log.iter().find(|s| s.path == path && s.query == n.to_string()).unwrap();
        let (first, second) = (of("/first"), of("/second"));
        let both_begun = first.received_ns.max(second.received_ns);
        let one_ended = first.answered_ns.unwrap().min(second.answered_ns.unwrap());
        overlapping += u32::from(both_begun < one_ended);
    }
    assert_eq!(overlapping, 20, "each pair was in flight together");
    assert_eq!((log.len(), ended.lock().unwrap().len()), (40, 20));
    assert_eq!(run.all(Metric::IterationsDone), 20);
    for endpoint in ["first", "second"] {
        assert_eq!(run.outcomes(endpoint), [(Outcome::Ok, 20)].into());
    }
}

#[test]
fn a_timer_and_a_request_of_one_iteration_end_in_the_order_of_time() {
    // The target answers every other request after the timer, the others before it.
    let quick = Behaviour::ok();
    let target = target(Behaviour::Sequence(vec![Behaviour::after(ms(400)), quick]));
    let plan = Plan::of(target.addr());
    // One virtual user, so that the two kinds of iteration alternate.
    let plan = plan.scenario(scenario("s", closed(1, ms(1_000)), sequence([get("first", "/first")])));
    let ended = Arc::new(Mutex::new(Vec::new()));
    let pair = Pair { first: FirstRequests::RequestAndTimer, ended: ended.clone() };
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(pair)).run();
    ran.assert_sound();
    let ended = ended.lock().unwrap().clone();
    assert_eq!(ended.len(), target.log().len());
    assert!(ended.len() >= 2, "{ended:?}");
    let slow = ended.iter().step_by(2);
    assert!(slow.clone().all(|order| *order == [1, 0]), "the timer fires before a slow response: {ended:?}");
    assert!(ended.iter().all(|order| order.len() == 2), "{ended:?}");
}
