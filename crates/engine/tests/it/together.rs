//! An iteration is a state machine that may have several things in flight at once.

use std::sync::{Arc, Mutex};

use engine::iteration::{Behaviour as Does, Context, Event, Iteration, Progress, WantId};
use evidence::{Instant, Metric, Outcome};
use testbed::{Behaviour, Site, Target};

use crate::balance::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, at_rate, closed, get, ms, scenario, sequence};

/// What is wanted at the beginning of each iteration.
#[derive(Clone, Copy)]
enum Wants {
    TwoRequests,
    RequestAndTimer,
}

/// Wants two things at once and is done when both have come.
struct Pair {
    wants: Wants,
    /// The order in which they came, by iteration.
    came: Arc<Mutex<Vec<Vec<WantId>>>>,
}

impl Does for Pair {
    fn virtual_user(&self) -> Box<dyn Iteration> {
        Box::new(Waiting { wants: self.wants, number: 0, came: Vec::new(), all: self.came.clone() })
    }

    fn endpoint_of(&self, _arrival: u64) -> Option<usize> {
        None
    }
}

struct Waiting {
    wants: Wants,
    number: u64,
    came: Vec<WantId>,
    all: Arc<Mutex<Vec<Vec<WantId>>>>,
}

impl Waiting {
    fn ask(&self, (want, path): (WantId, &str), due: Instant, context: &mut Context<'_>) {
        let draft = context.request(want);
        draft.endpoint = want as usize;
        draft.due = due;
        draft.deadline = due + ms(30_000);
        draft.method.extend_from_slice(b"GET");
        draft.path.extend_from_slice(format!("{path}?{}", self.number).as_bytes());
    }

    fn note(&mut self, want: WantId) -> Progress {
        self.came.push(want);
        if self.came.len() < 2 {
            return Progress::Waiting;
        }
        self.all.lock().unwrap().push(std::mem::take(&mut self.came));
        Progress::Done
    }
}

impl Iteration for Waiting {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        match event {
            Event::Begin(arrival) => {
                self.number = arrival.number;
                self.ask((0, "/first"), arrival.due, context);
                match self.wants {
                    Wants::TwoRequests => self.ask((1, "/second"), arrival.due, context),
                    Wants::RequestAndTimer => context.timer(1, arrival.due + ms(40)),
                }
                Progress::Waiting
            }
            Event::Completed { want, response, .. } => {
                assert_eq!(response.status, 200);
                self.note(want)
            }
            Event::Fired(want) => self.note(want),
        }
    }
}

fn target(first: Behaviour) -> Target {
    testbed::http(Site::new().at("/first", first).at("/second", Behaviour::after(ms(300)))).unwrap()
}

#[test]
fn two_requests_of_one_iteration_are_held_by_the_target_at_the_same_time() {
    let target = target(Behaviour::after(ms(300)));
    let steps = sequence([get("first", "/first"), get("second", "/second")]);
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(40.0, ms(500)), steps));
    let came = Arc::new(Mutex::new(Vec::new()));
    let pair = Pair { wants: Wants::TwoRequests, came: came.clone() };
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
    assert_eq!((log.len(), came.lock().unwrap().len()), (40, 20));
    assert_eq!(run.all(Metric::IterationsDone), 20);
    for endpoint in ["first", "second"] {
        assert_eq!(run.outcomes(endpoint), [(Outcome::Ok, 20)].into());
    }
}

#[test]
fn a_timer_and_a_request_of_one_iteration_come_in_the_order_of_the_clock() {
    // The target answers every other request after the timer, the others before it.
    let quick = Behaviour::ok();
    let target = target(Behaviour::Sequence(vec![Behaviour::after(ms(400)), quick]));
    let plan = Plan::of(target.addr());
    // One virtual user, so that the two kinds of iteration alternate.
    let plan = plan.scenario(scenario("s", closed(1, ms(1_000)), sequence([get("first", "/first")])));
    let came = Arc::new(Mutex::new(Vec::new()));
    let pair = Pair { wants: Wants::RequestAndTimer, came: came.clone() };
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(pair)).run();
    ran.assert_sound();
    let came = came.lock().unwrap().clone();
    assert_eq!(came.len(), target.log().len());
    assert!(came.len() >= 2, "{came:?}");
    let slow = came.iter().step_by(2);
    assert!(slow.clone().all(|order| *order == [1, 0]), "the timer comes before a slow answer: {came:?}");
    assert!(came.iter().all(|order| order.len() == 2), "{came:?}");
}
