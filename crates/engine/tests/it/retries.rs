//! Requests that the peer did not process are sent again, and counted.

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use engine::iteration::{Context, Event, Progress};
use evidence::{Metric, Outcome, Run as _};
use workload::{Executor, Flow, HttpVersion, Retry, Reuse};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun, drive};
use crate::h2_peer::{Manner, Peer};
use crate::plan::{Plan, Tuned, WEB, ms, request, scenario, sequence};
use crate::scripts::{Script, ScriptState};
use crate::tcp_peer::{read_head, serving};

/// Ten requests, one after another.
fn ten(plan: Plan, method: &str) -> FinishedRun {
    let executor = Executor::SharedIterations { vus: 1, iterations: 10, max_duration: ms(60_000) };
    let step = request(method, "step", "/").within(ms(10_000));
    let ran = drive(plan.scenario(scenario("s", executor, sequence([step]))).compile());
    ran.assert_sound();
    ran
}

fn http2(peer: &Peer, retry: Retry) -> Plan {
    Plan::of(peer.addr).connecting(WEB, |c| (c.http, c.retry) = (HttpVersion::Http2, retry))
}

#[test]
fn streams_that_the_peer_refuses_or_leaves_unprocessed_are_sent_again_whatever_their_method() {
    let peer = Peer::start(Manner::Leaves(1));
    let ran = ten(http2(&peer, Retry::Unprocessed), "POST");
    assert_eq!(ran.run.outcomes("step"), [(Outcome::Ok, 10)].into());
    assert_eq!((ran.run.all(Metric::Retried), ran.run.all(Metric::Requests)), (1, 10));
    assert_eq!(peer.seen(|seen| (seen.requests, seen.connections)), (11, 2));

    let peer = Peer::start(Manner::Leaves(1));
    let ran = ten(http2(&peer, Retry::Never), "POST");
    assert_eq!(ran.run.outcomes("step"), [(Outcome::Ok, 9), (Outcome::Reset, 1)].into());
    assert_eq!(ran.run.all(Metric::Retried), 0);
}

#[test]
fn a_request_is_sent_on_further_connections_while_the_peer_leaves_each_without_processing_it() {
    let peer = Peer::start(Manner::Leaves(6));
    let ran = ten(http2(&peer, Retry::Unprocessed), "POST");
    assert_eq!(ran.run.outcomes("step"), [(Outcome::Ok, 10)].into());
    assert_eq!((ran.run.all(Metric::Retried), ran.run.all(Metric::Requests)), (1, 10));
    assert_eq!(peer.seen(|seen| (seen.requests, seen.connections)), (16, 7));

    let peer = Peer::start(Manner::Leaves(usize::MAX));
    let ran = ten(http2(&peer, Retry::Unprocessed), "POST");
    assert_eq!(ran.run.outcomes("step"), [(Outcome::Reset, 10)].into());
    assert_eq!(peer.seen(|seen| seen.requests), 70);
    let details: Vec<_> = ran.run.exemplars().unwrap().into_iter().map(|exemplar| exemplar.detail).collect();
    assert!(
        details.iter().all(|why| why.starts_with("the server ended 7 connections in a row")),
        "{details:?}"
    );
}

#[test]
fn a_request_that_the_peer_refuses_on_a_connection_that_continues_is_sent_again_only_once() {
    let peer = Peer::start(Manner::Refuse);
    let ran = ten(http2(&peer, Retry::Unprocessed), "GET");
    assert_eq!(ran.run.outcomes("step"), [(Outcome::Reset, 10)].into());
    assert_eq!((ran.run.all(Metric::Retried), peer.seen(|seen| seen.requests)), (10, 20));
}

/// A peer of HTTP/1.1 that answers one request on each connection, and closes the connection when it has read the next.
fn peer_that_closes_after_one() -> SocketAddr {
    serving(|_, mut stream| {
        read_head(&mut stream);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
        read_head(&mut stream);
    })
}

#[test]
fn idempotent_requests_on_a_reused_connection_that_closed_without_an_answer_are_sent_again() {
    let run = |method, retry| {
        let plan = Plan::of(peer_that_closes_after_one())
            .connecting(WEB, |c| (c.retry, c.reuse) = (retry, Some(Reuse::Pool)));
        let ran = ten(plan, method);
        (ran.run.outcomes("step"), ran.run.all(Metric::Retried))
    };
    // The second request of each connection is lost, and its repetition is the first of another.
    assert_eq!(run("GET", Retry::Unprocessed), ([(Outcome::Ok, 10)].into(), 9));
    let half = [(Outcome::Ok, 5), (Outcome::Reset, 5)];
    assert_eq!(run("GET", Retry::Never), (half.into(), 0));
    assert_eq!(run("POST", Retry::Unprocessed), (half.into(), 0));
}

/// Ask for a request of this name and number.
fn post(number: u32, url: &str, state: &ScriptState, context: &mut Context<'_>) {
    let (origin, endpoint) = (context.origin(url).unwrap(), context.endpoint("post"));
    let draft = context.request(number);
    (draft.origin, draft.endpoint) = (origin, endpoint);
    (draft.due, draft.deadline) = (state.due, state.due + ms(30_000));
    draft.method.extend_from_slice(b"POST");
    draft.path.extend_from_slice(b"/");
}

#[test]
fn a_request_in_flight_is_sent_again_where_the_server_said_so_before_another_could_not_be_written() {
    let peer = Arc::new(Peer::start(Manner::GoesAtSecond));
    let executor = Executor::PerVuIterations { vus: 1, iterations: 1, max_duration: ms(60_000) };
    let flow = Flow::Script { function: "default".to_owned() };
    let plan = http2(&peer, Retry::Unprocessed).connecting(WEB, |c| c.connections = Some(1));
    let plan = plan.scenario(scenario("s", executor, flow));
    let (url, other) = (format!("http://{}", peer.addr), peer.clone());
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| {
        match event {
            Event::Begin(_) => post(0, &url, state, context),
            Event::Completed { name: 0, .. } => {
                post(1, &url, state, context);
                context.timer(9, context.now() + ms(1));
            }
            Event::TimerFired(_) => {
                // The loop does not hear of the end before the next request is to be written.
                other.let_go();
                while !other.seen(|seen| seen.is_first_gone) {
                    thread::park_timeout(ms(1));
                }
                post(2, &url, state, context);
            }
            _ if state.turns.replace(1) == 1 => return Progress::DONE,
            _ => {}
        }
        Progress::WAITING
    };
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run();
    assert_eq!(ran.assert_sound().outcomes("post"), [(Outcome::Ok, 3)].into());
    assert_eq!((ran.run.all(Metric::Retried), peer.seen(|seen| seen.connections)), (2, 2));
}
