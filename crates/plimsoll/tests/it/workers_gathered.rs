//! Before a run over workers: workers that are not up yet, and secrets that do not match.

use std::net::TcpListener;

use rustix::process::Signal;
use testbed::{Behaviour, Target};

use crate::command::{TestFolder, open};

fn target() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

#[test]
fn a_worker_that_is_started_after_the_run_is_waited_for() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 1));
    folder.write("token", "a token of this test, long enough");
    // A port that is free, because what took it has ended.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let listed = ["--worker", &port, "--worker-token-file", "token"];
    let mut run = folder.start(&[&["run", "plan.toml"], &listed[..]].concat());
    run.until("the run waits", || folder.read("stderr.txt").contains(&format!("waiting for worker {port}")));
    let own = TestFolder::new("");
    own.write("token", folder.read("token"));
    let worker = own.start(&["worker", "--listen", &port, "--token-file", "token"]);
    run.end().exits_with(0);
    worker.end().exits_with(0);
    assert_eq!(target.requests(), 50);
}

#[test]
fn ctrl_c_ends_the_wait_for_a_worker() {
    let folder = TestFolder::new(&open(target().addr(), 1));
    folder.write("token", "a token of this test, long enough");
    let refused = testbed::refuse().unwrap().addr().to_string();
    let mut run = folder.start(&["run", "plan.toml", "--worker", &refused, "--worker-token-file", "token"]);
    run.until("the run waits", || folder.read("stderr.txt").contains("waiting for worker"));
    run.signal(Signal::INT);
    run.end().stderr_contains(&["stopped before the load; nothing was recorded"]);
}

#[test]
fn a_worker_and_a_run_with_different_secrets_are_told_which_and_what_to_do() {
    let folder = TestFolder::new(&open(target().addr(), 1));
    for keys in ["run.pem", "other.pem"] {
        folder.plimsoll(&["worker", "--make-keys", keys]).exits_with(0);
    }
    folder.write("token", "a token of this test, long enough");
    folder.write("other", "another token of this test");
    let token_here = "its token is not that of this side: give the run and each worker the same one";
    let keys_here = "its keys are not those of this side: give the same file to the run";
    let (only_here, only_there) =
        ("it has no keys, and this side has", "it has keys, and this side has a token");
    for (of_worker, of_run, at_run, at_worker) in [
        (["--token-file", "token"], ["--worker-token-file", "other"], token_here, token_here),
        (["--keys", "run.pem"], ["--worker-keys", "other.pem"], keys_here, keys_here),
        (["--keys", "run.pem"], ["--worker-token-file", "token"], only_there, only_here),
        (["--token-file", "token"], ["--worker-keys", "run.pem"], only_here, only_there),
    ] {
        let mut worker = folder.start(&[&["worker", "--listen", "127.0.0.1:0"], &of_worker[..]].concat());
        worker.until("it listens", || folder.read("stdout.txt").contains('\n'));
        let address = folder.read("stdout.txt").trim().trim_start_matches("listening on ").to_owned();
        let other = TestFolder::new(&folder.read("plan.toml"));
        for file in ["run.pem", "other.pem", "token", "other"] {
            other.write(file, folder.read(file));
        }
        let ran =
            other.plimsoll(&[&["run", "plan.toml", "--quiet", "--worker", &address], &of_run[..]].concat());
        ran.exits_with(2).stderr_contains(&[&format!("worker 1 ({address}): {at_run}")]);
        worker.until("it says why", || folder.read("stderr.txt").contains(at_worker));
        worker.signal(Signal::TERM);
        worker.end();
    }
    let keys = |file: &str| folder.plimsoll(&["worker", "--keys", file]);
    keys("token").exits_with(2).stderr_contains(&["token: this is not a key file of a run: make one with"]);
    let as_token = folder.plimsoll(&["worker", "--token-file", "run.pem"]);
    as_token.exits_with(2).stderr_contains(&["these are keys, given as a token"]);
}

#[test]
fn a_worker_that_cannot_listen_says_where_and_what_to_do() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let folder = TestFolder::new("");
    folder.write("token", "a token of this test, long enough");
    let ran = folder.plimsoll(&["worker", "--listen", &taken, "--token-file", "token"]);
    ran.exits_with(2).stderr_contains(&[&format!("a worker cannot listen at {taken}: the port is in use")]);
    let ran = folder.plimsoll(&["worker", "--listen", "127.0.0.1"]);
    ran.exits_with(2).stderr_contains(&["`127.0.0.1` is not HOST:PORT, such as `127.0.0.1:7400`"]);
}
