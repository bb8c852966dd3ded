//! Scripts that ask for connections, and close theirs.

use std::sync::Arc;

use engine::exchange::Purpose;
use engine::iteration::{Context, Event, Progress};
use evidence::{Metric, Outcome};
use testbed::{GrpcBehaviour, Target};
use workload::{Executor, Flow};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun};
use crate::plan::{Plan, ms, scenario};
use crate::scripts::{Script, ScriptState, closed_port, send};

/// What one iteration does once its first operation has ended.
type Then = fn(&mut ScriptState, &mut Context<'_>, &str);

/// What an iteration begins with.
#[derive(Clone, Copy)]
struct Beginning {
    purpose: Purpose,
    then: Then,
}

/// Two virtual users with three iterations each, whose first operation is for this server.
fn run(url: String, begin: Beginning) -> FinishedRun {
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| match event {
        Event::Begin(_) => {
            let (origin, endpoint) = (context.grpc_origin(&url).unwrap(), context.endpoint("first"));
            let draft = send(state, "/bed.Bed/Good", context);
            (draft.origin, draft.endpoint, draft.purpose) = (origin, endpoint, begin.purpose);
            draft.body.extend_from_slice(b"\0\0\0\0\x02hi");
            Progress::WAITING
        }
        Event::Completed { response, transport, .. } => {
            if begin.purpose == Purpose::Connection {
                assert_eq!((response.status, response.headers.len()), (0, 0));
            } else if transport.is_none() {
                let trailers: Vec<&[u8]> =
                    response.headers.iter().skip(response.head_fields).map(|(name, _)| name).collect();
                assert_eq!(trailers, [b"grpc-status"]);
            }
            (begin.then)(state, context, &url);
            Progress::DONE
        }
        _ => Progress::DONE,
    };
    let each = Executor::PerVuIterations { vus: 2, iterations: 3, max_duration: ms(30_000) };
    let flow = Flow::Script { function: "default".to_owned() };
    let plan = Plan::new().scenario(scenario("s", each, flow));
    Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run()
}

fn target() -> (Target, String) {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let url = format!("http://{}", target.addr());
    (target, url)
}

const NOTHING: Then = |_, _, _| {};
const CLOSE: Then = |_, context, url| {
    let origin = context.grpc_origin(url).unwrap();
    context.close_connections(origin);
};

#[test]
fn a_connection_is_opened_once_for_each_virtual_user_and_nothing_is_sent() {
    let (target, url) = target();
    let ran = run(url, Beginning { purpose: Purpose::Connection, then: NOTHING });
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("first"), [(Outcome::Ok, 6)].into());
    assert_eq!((target.connections(), target.requests()), (2, 0));
}

#[test]
fn a_connection_that_cannot_be_opened_is_counted_with_its_outcome() {
    let url = format!("http://{}", closed_port());
    let ran = run(url, Beginning { purpose: Purpose::Connection, then: NOTHING });
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("first"), [(Outcome::Refused, 6)].into());
    assert_eq!(run.all(Metric::IterationsDone), 6);
}

#[test]
fn a_connection_that_was_closed_is_opened_again() {
    for (then, connections) in [(NOTHING, 2), (CLOSE, 6)] {
        let (target, url) = target();
        let ran = run(url, Beginning { purpose: Purpose::Request, then });
        assert_eq!(ran.assert_sound().outcomes("first"), [(Outcome::Ok, 6)].into());
        assert_eq!((target.connections(), target.requests()), (connections, 6));
    }
}
