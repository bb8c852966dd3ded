//! Responses that are not in the form of the standards: what clients understand is counted by what it departs from, the rest by
//! its reason.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use evidence::{Key, Metric, Outcome, Run as _};
use workload::Executor;

use crate::accounting::Accounting as _;
use crate::drive::{FinishedRun, drive};
use crate::plan::{Plan, Tuned as _, get, ms, scenario, sequence};
use crate::tcp_peer::{read_head, serving};

const COUNT: u64 = 10;

/// Ten requests, one after another, that are answered with these bytes, and how many connections the peer accepted.
fn ten(response: &'static str) -> (FinishedRun, usize) {
    let accepted = Arc::new(AtomicUsize::new(0));
    let counted = accepted.clone();
    let addr = serving(move |_, mut stream| {
        counted.fetch_add(1, Ordering::SeqCst);
        while read_head(&mut stream) {
            stream.write_all(response.as_bytes()).unwrap();
        }
    });
    let executor = Executor::SharedIterations { vus: 1, iterations: COUNT, max_duration: ms(60_000) };
    let step = get("step", "/").within(ms(10_000));
    let ran = drive(Plan::of(addr).scenario(scenario("s", executor, sequence([step]))).compile());
    ran.assert_sound();
    (ran, accepted.load(Ordering::SeqCst))
}

#[track_caller]
fn check(response: &'static str, deviation: &str, connections: usize) {
    let (ran, accepted) = ten(response);
    assert_eq!(ran.run.outcomes("step"), [(Outcome::Ok, COUNT)].into(), "{response:?}");
    let is_it = |key: &Key| key.tags.get(Key::DEVIATION).is_some_and(|tag| **tag == *deviation);
    assert_eq!(ran.run.count(Metric::Deviations, is_it), COUNT, "{response:?}");
    assert_eq!(ran.run.all(Metric::Deviations), COUNT, "{response:?}");
    assert_eq!(accepted, connections, "{response:?}");
}

#[test]
fn what_clients_understand_counts_as_what_it_says_and_is_named() {
    check("HTTP/1.1 200 OK\r\nx : y\r\ncontent-length: 2\r\n\r\nok", "blank-before-colon", 1);
    check("HTTP/1.1 200 OK\r\nx: y\r\n z\r\ncontent-length: 2\r\n\r\nok", "folded-field", 1);
    check("HTTP/1.1 200 OK\r\nx y: z\r\ncontent-length: 2\r\n\r\nok", "blank-in-name", 1);
}

#[test]
fn a_connection_ends_with_a_response_whose_end_others_may_find_elsewhere() {
    let each = COUNT as usize;
    let both =
        "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    check(both, "length-and-chunked", each);
    check("HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\nok", "blank-before-colon", each);
    check(
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "chunked-in-http-1.0",
        each,
    );
}

#[test]
fn what_cannot_be_understood_fails_with_what_is_wrong_with_it() {
    for (response, why) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n", "conflicting content-lengths"),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "an invalid header name"),
    ] {
        let (ran, _) = ten(response);
        assert_eq!(ran.run.outcomes("step"), [(Outcome::Protocol, COUNT)].into());
        let exemplars = ran.run.exemplars().unwrap();
        let detail = &exemplars.first().unwrap().detail;
        assert_eq!(*detail, format!("the peer broke the protocol: {why}"));
    }
}

#[test]
fn status_101_that_was_not_asked_for_is_a_status() {
    let (ran, accepted) = ten("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    let status = |key: &Key| key.tags.get(Key::STATUS).is_some_and(|tag| **tag == *"101");
    assert_eq!(ran.run.count(Metric::Results, status), COUNT);
    assert_eq!((ran.run.all(Metric::Deviations), accepted), (COUNT, COUNT as usize));
}
