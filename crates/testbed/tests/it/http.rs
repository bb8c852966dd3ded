//! What each behaviour of the HTTP target puts on the wire and into the log.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::json;
use testbed::{Behaviour, CannedResponse, Ending, Farewell, Framing, Outcome, Site};

use crate::client::{Client, LIMIT, body, get, json, status};

#[test]
fn keeps_a_connection_for_many_requests_and_logs_each() {
    let target = testbed::http(Behaviour::status(503)).unwrap();
    let mut client = Client::new(target.addr());
    for _ in 0..3 {
        assert_eq!(status(&client.get("/a?b=c")), 503);
    }
    let log = target.log();
    assert_eq!(log.len(), 3);
    assert_eq!(target.connections(), 1);
    for served in &log {
        assert_eq!(
            (served.method.as_str(), served.path.as_str(), served.query.as_str()),
            ("GET", "/a", "b=c")
        );
        assert_eq!((served.status, served.outcome, served.connection), (Some(503), Outcome::Answered, 1));
        assert_eq!(served.header("host"), Some("x"));
        assert!(served.answered_ns.unwrap() >= served.received_ns);
    }
    assert!(log.is_sorted_by_key(|served| served.received_ns));
}

#[test]
fn a_site_mixes_behaviours_by_path() {
    let site = Site::new().at("/ok", Behaviour::ok()).at("/busy", Behaviour::status(429));
    let target = testbed::http(site).unwrap();
    let statuses = ["/ok", "/busy", "/other"].map(|path| status(&get(&target, path)));
    assert_eq!(statuses, [200, 429, 404]);
}

#[test]
fn computes_each_answer_from_a_state_that_the_test_holds() {
    let state = Arc::new(AtomicU64::new(0));
    let behaviour = Behaviour::computed({
        let state = Arc::clone(&state);
        move || CannedResponse::new(200).body(state.fetch_add(1, Ordering::Relaxed).to_string())
    });
    let target = testbed::http(behaviour).unwrap();
    let mut client = Client::new(target.addr());
    assert_eq!([(); 2].map(|()| body(&client.get("/")).to_owned()), ["0", "1"]);
    state.store(7, Ordering::Relaxed);
    assert_eq!(body(&client.get("/")), "7");
}

#[test]
fn echoes_a_request_with_a_chunked_body() {
    let target = testbed::http(Behaviour::Echo).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"POST /p?q=1 HTTP/1.1\r\nX-One: 1\r\nx-one: 2\r\ntransfer-encoding: chunked\r\n\r\n");
    client.send(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    let echo = json(&client.answer());
    let headers = json!({ "x-one": "1, 2", "transfer-encoding": "chunked" });
    let expect = json!({
        "method": "POST", "path": "/p", "query": "q=1", "headers": headers, "body": "abcde", "connection": 1,
    });
    assert_eq!(echo, expect);
    assert_eq!(target.log()[0].body, b"abcde");
}

#[test]
fn answers_pipelined_requests_in_order() {
    let target = testbed::http(Behaviour::Echo).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"POST /1 HTTP/1.1\r\ncontent-length: 2\r\n\r\nhiGET /2 HTTP/1.1\r\n\r\n");
    assert_eq!(json(&client.answer())["body"], "hi");
    assert_eq!(json(&client.answer())["path"], "/2");
}

#[test]
fn frames_a_body_by_chunks_and_by_the_end() {
    let answer = CannedResponse::new(200).body("hello");
    let site = Site::new()
        .at("/chunks", answer.clone().framed(Framing::Chunked(2)).into())
        .at("/end", answer.framed(Framing::UntilClose).into());
    let target = testbed::http(site).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"GET /chunks HTTP/1.1\r\nconnection: close\r\n\r\n");
    let (bytes, end) = client.rest();
    assert!(bytes.ends_with(b"2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n0\r\n\r\n"));
    assert!(end.is_ok());
    let mut client = Client::new(target.addr());
    client.send(b"GET /end HTTP/1.1\r\n\r\n");
    assert!(client.rest().0.ends_with(b"\r\n\r\nhello"));
}

#[test]
fn every_nth_request_fails_and_a_sequence_repeats() {
    let sequence = Behaviour::Sequence([200, 404, 500].map(Behaviour::status).to_vec());
    let site = Site::new().at("/rate", Behaviour::error_rate(3, 500)).at("/sequence", sequence);
    let target = testbed::http(site).unwrap();
    let ask = |path: &str| (0..6).map(|_| status(&get(&target, path))).collect::<Vec<_>>();
    assert_eq!(ask("/rate"), [200, 200, 500, 200, 200, 500]);
    assert_eq!(ask("/sequence"), [200, 404, 500, 200, 404, 500]);
}

/// Sends a request to a target that behaves so, and compares what arrives, how it ends and what is logged.
fn check_broken(behaviour: Behaviour, expect: &[u8], ends: Result<(), io::ErrorKind>, outcome: Outcome) {
    let target = testbed::http(behaviour).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    let (bytes, end) = client.rest();
    assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(expect));
    assert_eq!(end.map_err(|error| error.kind()), ends);
    let served = &target.log()[0];
    assert_eq!((served.outcome, served.status), (outcome, None));
    assert!(served.held().is_some());
}

#[test]
fn broken_answers_end_as_they_should() {
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfirst";
    let long = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nfirst";
    let reset = Err(io::ErrorKind::ConnectionReset);
    check_broken(Behaviour::close(), b"", Ok(()), Outcome::Closed);
    check_broken(Behaviour::reset(), b"", reset, Outcome::Reset);
    check_broken(Behaviour::half_answer(Ending::Close), half, Ok(()), Outcome::Closed);
    check_broken(Behaviour::half_answer(Ending::Reset), half, reset, Outcome::Reset);
    check_broken(Behaviour::lie_about_length(2, "first", Ending::Close), long, Ok(()), Outcome::Closed);
    check_broken(Behaviour::raw("what?", Ending::Close), b"what?", Ok(()), Outcome::Closed);
}

#[test]
fn a_request_that_is_never_answered_stays_held_until_its_client_leaves() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    assert!(target.wait_for(LIMIT, |log| log.len() == 1));
    assert_eq!((target.log()[0].outcome, target.log()[0].held()), (Outcome::Held, None));
    drop(client);
    assert!(target.wait_for(LIMIT, |log| log[0].outcome == Outcome::Gone));
}

#[test]
fn half_an_answer_that_hangs_arrives_and_stays_open() {
    let target = testbed::http(Behaviour::half_answer(Ending::Hang)).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    assert!(client.take(45).ends_with(b"\r\n\r\nfirst"));
    assert_eq!(target.log()[0].outcome, Outcome::Held);
}

#[test]
fn a_connection_is_closed_after_its_requests() {
    let silent = Behaviour::close_after(2, Farewell::Silent);
    let announced = Behaviour::close_after(2, Farewell::Announced);
    for (behaviour, last_words) in [(silent, false), (announced, true)] {
        let target = testbed::http(behaviour).unwrap();
        let mut client = Client::new(target.addr());
        assert!(!client.get("/").contains("connection: close"));
        assert_eq!(client.get("/").contains("connection: close"), last_words);
        assert_eq!(client.rest().0, b"");
    }
}

#[test]
fn a_login_gives_a_token_that_opens_the_rest() {
    let target = testbed::http(Behaviour::Login).unwrap();
    let mut client = Client::new(target.addr());
    let mut ask = |head: &str| {
        client.send(format!("{head}\r\n\r\n").as_bytes());
        client.answer()
    };
    assert_eq!(status(&ask("GET /me HTTP/1.1")), 401);
    let login = ask("POST /v1/login HTTP/1.1");
    assert!(login.contains("set-cookie: session=token-1;"));
    assert_eq!(json(&login), json!({ "token": "token-1" }));
    let by_bearer = ask("GET /me HTTP/1.1\r\nauthorization: Bearer token-1");
    assert_eq!(json(&by_bearer), json!({ "user": 1, "by": "bearer" }));
    let by_cookie = ask("GET /me HTTP/1.1\r\ncookie: a=b; session=token-1");
    assert_eq!(json(&by_cookie), json!({ "user": 1, "by": "cookie" }));
    assert_eq!(status(&ask("GET /me HTTP/1.1\r\nauthorization: Bearer token-2")), 401);
}

#[test]
fn bytes_that_are_no_request_get_400_or_what_is_raw() {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut client = Client::new(target.addr());
    client.send(preface);
    assert_eq!(status(&client.answer()), 400);
    assert_eq!(target.log()[0].method, "");
    let target = testbed::http(Behaviour::garbage()).unwrap();
    let mut client = Client::new(target.addr());
    client.send(preface);
    assert!(client.rest().0.starts_with(b"\x00\xffnot http"));
}

#[test]
fn a_head_request_gets_no_body() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"HEAD / HTTP/1.1\r\nconnection: close\r\n\r\n");
    let text = String::from_utf8(client.rest().0).unwrap();
    assert!(text.contains("content-length: 11\r\n"));
    assert_eq!(body(&text), "");
}

#[test]
fn stopping_closes_port_and_connections_and_keeps_the_log() {
    let mut target = testbed::http(Behaviour::after(Duration::from_secs(3600))).unwrap();
    let mut client = Client::new(target.addr());
    client.send(b"GET / HTTP/1.1\r\n\r\n");
    assert!(target.wait_for(LIMIT, |log| log.len() == 1));
    target.stop();
    assert_eq!(client.rest().0, b"");
    assert_eq!(TcpStream::connect(target.addr()).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!(target.log()[0].outcome, Outcome::Held);
    // No other process answers in its place while a client may still connect to it.
    assert_eq!(TcpListener::bind(target.addr()).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    let addr = target.addr();
    drop(target);
    TcpListener::bind(addr).unwrap();
}

#[test]
fn a_target_can_take_the_place_of_a_refusal() {
    let refusal = testbed::refuse().unwrap();
    let addr = refusal.addr();
    drop(refusal);
    let target = testbed::http_at(addr, Behaviour::ok()).unwrap();
    assert_eq!((target.addr(), status(&get(&target, "/"))), (addr, 200));
}
