//! Requests that switch to WebSocket: their connections carry what iterations send and are handed, and nothing else.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::exchange::{BodyReading, Purpose};
use engine::iteration::{Context, Event, MessagePosition, Progress, Rejection, Verdict};
use evidence::{Metric, Outcome};
use workload::{Executor, Flow, Scenario};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun};
use crate::plan::{Plan, ms, scenario};
use crate::scripts::{Script, ScriptState, send};
use crate::tcp_peer::{read_head, serving};

const SWITCHING: &str =
    "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n";

/// A peer that answers with this head, echoes what follows, and tells what that was when the connection is closed.
fn peer(head: &'static str) -> (SocketAddr, Receiver<Vec<u8>>) {
    let (tell, told) = channel();
    let tell = Mutex::new(tell);
    let serve = move |_, mut stream: TcpStream| {
        if !read_head(&mut stream) {
            return;
        }
        stream.write_all(head.as_bytes()).unwrap();
        let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            all.extend_from_slice(&buffer[..count]);
            if stream.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        tell.lock().unwrap().send(all).unwrap();
    };
    (serving(serve), told)
}

/// What an iteration does with a part of a response.
type OnPart = fn(&mut ScriptState, &[u8], &mut Context<'_>) -> Progress;

fn say(state: &ScriptState, text: &str, context: &mut Context<'_>) {
    let request = state.request.expect("the request was asked for");
    context.send(request, MessagePosition::NotLast, |outbox| outbox.extend_from_slice(text.as_bytes()));
}

fn run(peer: SocketAddr, scenario: Scenario, on_part: OnPart) -> FinishedRun {
    let url = format!("http://{peer}");
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| match event {
        Event::Begin(_) => {
            let (origin, endpoint) = (context.websocket_origin(&url).unwrap(), context.endpoint("session"));
            let draft = send(state, "/", context);
            (draft.origin, draft.endpoint, draft.purpose) = (origin, endpoint, Purpose::WebSocket);
            (draft.body_reading, draft.sends_more) = (BodyReading::InParts, true);
            draft.farewell = Box::from(&b"farewell"[..]);
            state.request = context.last_request();
            Progress::WAITING
        }
        Event::Received { response, bytes, .. } => {
            assert!(bytes.received >= response.body_bytes && bytes.sent > 0);
            assert!(response.is_whole());
            on_part(state, &response.body, context)
        }
        _ => Progress::DONE,
    };
    let plan = Plan::new().scenario(scenario);
    Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run()
}

fn script(executor: Executor) -> Scenario {
    scenario("s", executor, Flow::Script { function: "default".to_owned() })
}

fn iterations(count: u64) -> Executor {
    Executor::PerVuIterations { vus: 1, iterations: count, max_duration: ms(30_000) }
}

#[test]
fn a_session_is_counted_when_it_is_open_and_carries_parts_both_ways() {
    let (addr, told) = peer(SWITCHING);
    let ran = run(addr, script(iterations(2)), |state, part, context| {
        match part {
            b"" => say(state, "one", context),
            b"one" => say(state, "two", context),
            _ => {
                assert_eq!(part, b"two");
                say(state, "last", context);
                context.cut(state.request.expect("the request was asked for"));
            }
        }
        Progress::WAITING
    });
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("session"), [(Outcome::Ok, 2)].into());
    assert_eq!((run.all(Metric::IterationsDone), run.all(Metric::MessagesOut)), (2, 0));
    assert_eq!(run.all(Metric::BytesIn), 2 * SWITCHING.len() as u64);
    // What was sent last has arrived, though the connection was closed after it.
    assert_eq!([told.recv().unwrap(), told.recv().unwrap()], [b"onetwolast", b"onetwolast"]);
}

#[test]
fn an_iteration_that_is_cancelled_says_farewell_and_its_session_stays_counted() {
    let (addr, told) = peer(SWITCHING);
    let duration = Duration::from_millis(300);
    let executor = Executor::ConstantVus { vus: 1, duration };
    let scenario = Scenario { graceful_stop: Duration::ZERO, ..script(executor) };
    let ran = run(addr, scenario, |_, _, _| Progress::WAITING);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("session"), [(Outcome::Ok, 1)].into());
    assert_eq!((run.all(Metric::IterationsDone), run.all(Metric::IterationsCancelled)), (0, 1));
    assert_eq!(told.recv().unwrap(), b"farewell");
}

#[test]
fn a_response_that_does_not_switch_completes_the_request() {
    let (addr, _told) = peer("HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
    let ran = run(addr, script(iterations(2)), |_, part, _| {
        assert!(matches!(part, b"no" | b""));
        Progress::WAITING
    });
    assert_eq!(ran.assert_sound().outcomes("session"), [(Outcome::Ok, 2)].into());
}

#[test]
fn a_handshake_that_its_iteration_rejects_is_counted_as_that() {
    let (addr, told) = peer(SWITCHING);
    let ran = run(addr, script(iterations(1)), |state, _, context| {
        context.cut(state.request.expect("the request was asked for"));
        let reason = "not the key".to_owned();
        Progress::Waiting(Verdict::Rejected(Rejection { outcome: Outcome::Protocol, reason }))
    });
    assert_eq!(ran.assert_sound().outcomes("session"), [(Outcome::Protocol, 1)].into());
    assert_eq!(told.recv().unwrap(), b"");
}
