//! Mistakes with workers: each side says what is wrong and the next step, and workers that are up stay for the next attempt.

use std::io::Write as _;
use std::net::TcpStream;

use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{Running, TestFolder, open, refusal};

const TOKEN: &str = "a token of this test, long enough";

/// A folder of a worker that listens, and its address.
fn worker() -> (TestFolder, Running, String) {
    let own = TestFolder::new("");
    own.write("token", TOKEN);
    let mut worker = own.start(&["worker", "--listen", "127.0.0.1:0", "--token-file", "token"]);
    worker.until("it listens", || own.read("stdout.txt").contains('\n'));
    let address = own.read("stdout.txt").trim().trim_start_matches("listening on ").to_owned();
    (own, worker, address)
}

#[test]
fn a_worker_stays_for_the_next_attempt_where_another_is_missing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 1));
    folder.write("token", TOKEN);
    let (_own, worker, address) = worker();
    let run = [
        "run",
        "plan.toml",
        "-q",
        "--worker-token-file",
        "token",
        "--worker-timeout",
        "1s",
        "--worker",
        &address,
    ];
    let missing = refusal().addr().to_string();
    let said = "the other workers wait for the next attempt: mend this one, and repeat the command";
    folder.plimsoll(&[&run[..], &["--worker", &missing]].concat()).exits_with(2).stderr_contains(&[said]);
    folder.plimsoll(&run).exits_with(0);
    worker
        .end()
        .exits_with(0)
        .stderr_contains(&["the run was not started; waiting for the next one\n", "finished: 50 requests\n"]);
}

#[test]
fn a_worker_that_is_given_twice_is_refused_before_anything_is_connected() {
    let folder = TestFolder::new(&open(refusal().addr(), 1));
    let run = ["run", "plan.toml", "--worker", "127.0.0.1:1", "--worker", "127.0.0.1:1,weight=2"];
    folder
        .plimsoll(&run)
        .exits_with(2)
        .stderr_contains(&["`--worker 127.0.0.1:1` is given twice", "127.0.0.1:1,weight=2"]);
}

#[test]
fn http_is_named_on_both_sides() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 1));
    folder.write("token", TOKEN);
    let run = ["run", "plan.toml", "--worker-token-file", "token", "--worker", &target.addr().to_string()];
    folder.plimsoll(&run).exits_with(2).stderr_contains(&["it is an HTTP server and not a worker"]);
    let (own, mut worker, address) = worker();
    let mut client = TcpStream::connect(&address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: worker\r\n\r\n").unwrap();
    let named = "it is an HTTP client, and a worker serves only `plimsoll run PLAN --worker HOST:PORT`";
    worker.until("the client is named", || own.read("stderr.txt").contains(named));
}

#[test]
fn a_worker_that_is_stopped_by_a_signal_says_so() {
    let (_own, worker, _) = worker();
    worker.signal(Signal::TERM);
    let ended = worker.end();
    assert_eq!(ended.signal, Some(Signal::TERM.as_raw()));
    ended.stderr_contains(&["the worker was stopped by a signal"]);
}

#[test]
fn keys_are_named_when_they_are_made_and_never_replaced() {
    let folder = TestFolder::new("");
    let make = ["worker", "--make-keys", "run.pem"];
    folder.plimsoll(&make).exits_with(0).stderr_contains(&["made run.pem", "--worker-keys run.pem"]);
    let keys = folder.read("run.pem");
    folder.plimsoll(&make).exits_with(2).stderr_contains(&["workers may have these keys; name another file"]);
    assert_eq!(folder.read("run.pem"), keys);
}
