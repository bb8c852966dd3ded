//! Between the plan and the load: the target must be there, ready, and answer as the plan expects.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use testbed::{Behaviour, CannedResponse, Ending, GrpcBehaviour, Site};

use crate::command::{TestFolder, checked, closed, open, refusal};

pub(crate) const PROTO: &str = "syntax = \"proto3\";\npackage demo;\nservice Events { rpc Send(Event) returns (Event); }\n\
                     message Event { string id = 1; }\n";

pub(crate) fn grpc_plan(address: std::net::SocketAddr) -> String {
    format!(
        r#"version = 1
precheck = false
[targets.events]
grpc = "{address}"
proto = ["events.proto"]
[[scenarios]]
name = "s"
executor = "constant-arrival-rate"
rate = "50/s"
duration = "1s"
[[scenarios.steps]]
name = "send"
grpc = "events/demo.Events/Send"
message = {{ id = "a" }}
"#
    )
}

/// The plan with a `wait_ready` of its target.
pub(crate) fn waiting(plan: &str, wait: &str) -> String {
    plan.replacen("[[scenarios]]", &format!("wait_ready = {{ {wait} }}\n[[scenarios]]"), 1)
}

#[test]
fn a_target_that_does_not_listen_is_reported_before_the_run() {
    let refusing = refusal();
    let folder = TestFolder::new(&closed(refusing.addr(), 1));
    let address = refusing.addr().to_string();
    let parts = ["target `api`", "nothing answers", &address, "--target api="];
    folder.plimsoll(&["run", "plan.toml"]).exits_with(2).stderr_contains(&parts);
    assert!(folder.files(".plimsoll").is_empty());
}

#[test]
fn a_host_that_does_not_exist_is_reported_before_the_run() {
    let plan = closed(([127, 0, 0, 1], 1).into(), 1).replace("127.0.0.1:1", "no-such-host.invalid:80");
    let folder = TestFolder::new(&plan);
    folder
        .plimsoll(&["run", "plan.toml"])
        .exits_with(2)
        .stderr_contains(&["target `api`", "no-such-host.invalid"]);
    assert!(folder.files(".plimsoll").is_empty());
}

#[test]
fn each_step_is_sent_once_before_the_load_and_every_failure_is_shown() {
    let site = Site::new()
        .at("/x", CannedResponse::new(503).body("the store is down").into())
        .at("/y", CannedResponse::new(404).into())
        .otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let more = "weight = 1\n[[scenarios.steps]]\nname = \"other\"\nget = \"${api.url}/y\"\nweight = 1\n\
                [[scenarios.steps]]\nname = \"sound\"\nget = \"${api.url}/z\"\nweight = 1\n";
    let folder = TestFolder::new(&(checked(&open(target.addr(), 1)) + more));
    let ran = folder.plimsoll(&["run", "plan.toml"]);
    ran.exits_with(2).stderr_contains(&[
        "steps `get`, `other` failed before the load",
        "> GET http://",
        "< 503",
        "the store is down",
        "< 404",
        "--no-precheck",
    ]);
    assert_eq!(target.requests(), 3);
    assert!(folder.files(".plimsoll").is_empty());
}

/// A target that fails now and then is loaded: the objectives say how often it may.
#[test]
fn a_step_that_fails_once_with_a_server_error_is_sent_again_before_the_load() {
    let sent = std::sync::atomic::AtomicU64::new(0);
    let first_fails = Behaviour::computed(move || {
        let is_first = sent.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0;
        CannedResponse::new(if is_first { 503 } else { 200 })
    });
    let target = testbed::http(first_fails).unwrap();
    let folder = TestFolder::new(&checked(&open(target.addr(), 1)));
    folder
        .plimsoll(&["run", "plan.toml", "--quiet"])
        .exits_with(0)
        .stderr_contains(&["`get` (http_503) failed with a server error and succeeded when sent again"]);
    assert_eq!(target.requests(), 2 + 50);
    let always = testbed::http(Behaviour::status(503)).unwrap();
    folder.write("plan.toml", checked(&open(always.addr(), 1)));
    let noted = "`get` (http_503) failed with a server error each time it was sent: the load is offered, and such failures count";
    folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(3).stderr_contains(&[noted]);
    assert_eq!(always.requests(), 3 + 50, "what the target does is evidence");
}

#[test]
fn a_process_id_that_no_process_has_is_named_before_the_load() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = checked(&open(target.addr(), 1)).replacen(
        "[targets.api]\n",
        "[targets.api]\nprocess = { pid = 4194303 }\n",
        1,
    );
    let folder = TestFolder::new(&plan);
    folder.plimsoll(&["run", "plan.toml"]).exits_with(2).stderr_contains(&["no process has the id 4194303"]);
}

#[test]
fn a_load_of_failures_stays_possible() {
    let target = testbed::http(Behaviour::status(404)).unwrap();
    let folder = TestFolder::new(&checked(&open(target.addr(), 1)));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "--no-precheck"]).exits_with(3);
    assert_eq!(target.requests(), 50);
    folder.write("plan.toml", open(target.addr(), 1));
    folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(3);
    assert_eq!(target.requests(), 100);
}

#[test]
fn a_url_that_fails_is_reported_at_once_and_can_be_loaded_all_the_same() {
    let target = testbed::http(Behaviour::status(404)).unwrap();
    let (folder, url) = (TestFolder::new(""), format!("http://{}/nope", target.addr()));
    let ran = folder.plimsoll(&["http", &url, "-n", "100"]);
    ran.exits_with(2).stderr_contains(&["step `GET /nope` failed before the load", "< 404", "--no-precheck"]);
    assert_eq!(target.requests(), 1);
    folder.plimsoll(&["http", &url, "-n", "100", "--quiet", "--no-precheck"]).exits_with(3);
    assert_eq!(target.requests(), 101);
}

/// A `POST` may change something: none is sent but those that were asked for.
#[test]
fn an_ad_hoc_request_that_may_change_something_is_not_sent_once_more() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let (folder, url) = (TestFolder::new(""), format!("http://{}/", target.addr()));
    folder.plimsoll(&["http", &url, "-n", "10", "-m", "POST", "-d", "x", "--quiet"]).exits_with(0);
    assert_eq!(target.requests(), 10);
}

#[test]
fn the_check_before_the_load_takes_no_data_of_the_load() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = checked(&open(target.addr(), 1))
        .replace("/x\"", "/x/${users.id}/${counter(\\\"order\\\", 1)}/${iteration}\"")
        + "\n[data.users]\ngenerate = \"u{1..51}\"\npick = \"unique\"\n";
    let folder = TestFolder::new(&plan);
    folder.plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(0);
    let paths: Vec<String> = target.log().iter().map(|served| served.path.clone()).collect();
    assert_eq!(paths[0], "/x/u51/1000000001/1000000000");
    let expected: HashSet<String> = (1..=50).map(|n| format!("/x/u{n}/{n}/{}", n - 1)).collect();
    assert_eq!(paths[1..].iter().cloned().collect::<HashSet<_>>(), expected);
    folder.write("plan.toml", plan.replace("..51}", "..50}"));
    let ran = folder.plimsoll(&["run", "plan.toml"]);
    ran.exits_with(0).stderr_contains(&["the steps of `load` are not sent", "all unique rows of `users`"]);
    assert_eq!(target.requests(), 51 + 50);
}

#[test]
fn a_failing_setup_step_shows_the_exchange_and_sends_no_load() {
    let target =
        testbed::http(Site::new().at("/open", Behaviour::status(409)).otherwise(Behaviour::ok())).unwrap();
    let setup = "[[setup]]\nname = \"open\"\npost = \"${api.url}/open\"\n";
    let folder = TestFolder::new(&(closed(target.addr(), 1) + setup));
    let ran = folder.plimsoll(&["run", "plan.toml"]);
    ran.exits_with(2).stderr_contains(&["step `open` failed before the load", "> POST http://", "< 409"]);
    assert_eq!(target.requests(), 1);
}

#[test]
fn the_load_waits_for_a_target_that_becomes_ready() {
    let unready = vec![Behaviour::status(503), Behaviour::close(), Behaviour::status(503), Behaviour::ok()];
    let site = Site::new().at("/ready", Behaviour::Sequence(unready)).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let plan = waiting(&closed(target.addr(), 1), "url = \"${api.url}/ready\", within = \"60s\"");
    TestFolder::new(&plan).plimsoll(&["run", "plan.toml", "--quiet"]).exits_with(0);
    let log = target.log();
    let asked = log.iter().filter(|served| served.path == "/ready").count();
    assert_eq!(asked, 4);
    assert!(
        log[..4].iter().all(|served| served.path == "/ready"),
        "the load came before the target was ready"
    );
}

#[test]
fn the_load_waits_for_a_target_that_is_started_later() {
    let refusing = refusal();
    let address = refusing.addr();
    let plan = waiting(&closed(address, 1), "url = \"${api.url}/ready\", within = \"60s\"");
    let folder = TestFolder::new(&plan);
    let mut run = folder.start(&["run", "plan.toml", "--quiet"]);
    run.until("it says what it waits for", || {
        folder.read("stderr.txt").contains("waiting up to 60s for http://")
    });
    drop(refusing);
    let target = testbed::http_at(address, Behaviour::ok()).unwrap();
    run.end().exits_with(0);
    assert!(target.requests() > 1);
}

#[test]
fn a_target_that_is_never_ready_fails_within_the_limit() {
    let refusing = refusal();
    let hanging = testbed::http(Behaviour::never()).unwrap();
    let dripping =
        Behaviour::Trickle { answer: CannedResponse::new(200), interval: Duration::from_millis(100) };
    let answer = testbed::http(Site::new().at("/ready", dripping)).unwrap();
    for (address, reason) in [
        (refusing.addr(), "refused"),
        (hanging.addr(), "its response is not complete"),
        (testbed::http(Behaviour::raw("garbage", Ending::Close)).unwrap().addr(), "not ready within"),
        (answer.addr(), "its response is not complete"),
    ] {
        let plan = waiting(&closed(address, 1), "url = \"${api.url}/ready\", within = \"500ms\"");
        let folder = TestFolder::new(&plan);
        let began = Instant::now();
        let ran = folder.plimsoll(&["run", "plan.toml"]);
        ran.exits_with(2).stderr_contains(&["target `api`", "not ready within 500ms", reason]);
        assert!(began.elapsed() < Duration::from_secs(30), "it went on waiting");
        assert!(folder.files(".plimsoll").is_empty());
    }
}

#[test]
fn grpc_health_decides_readiness() {
    let health = "/grpc.health.v1.Health/Check";
    let ready = |serving: GrpcBehaviour| Site::new().at(health, serving).otherwise(GrpcBehaviour::Echo);
    let run = |address| {
        let plan = waiting(&grpc_plan(address), "grpc_health = true, within = \"500ms\"");
        let folder = TestFolder::new(&plan);
        folder.write("events.proto", PROTO);
        folder.plimsoll(&["run", "plan.toml", "--quiet"])
    };
    let target = testbed::grpc(ready(GrpcBehaviour::ok([8, 1]))).unwrap();
    run(target.addr()).exits_with(0);
    let target = testbed::grpc(ready(GrpcBehaviour::ok([8, 2]))).unwrap();
    run(target.addr()).exits_with(2).stderr_contains(&["gRPC health at", "health status is not SERVING"]);
    let target = testbed::grpc(ready(GrpcBehaviour::status(12))).unwrap();
    run(target.addr()).exits_with(2).stderr_contains(&["UNIMPLEMENTED"]);
}

#[test]
fn too_few_descriptors_are_reported_before_anything_is_sent() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = closed(target.addr(), 1).replace("vus = 2", "vus = 200");
    let folder = TestFolder::new(&checked(&plan));
    let ran = folder.plimsoll_after("ulimit -n 100", &["run", "plan.toml"]);
    ran.exits_with(2).stderr_contains(&[
        "200 connections",
        "264 open files",
        "have 100",
        "ulimit -n 264",
        "max_vus",
    ]);
    assert_eq!((target.requests(), target.connections()), (0, 0));
    assert!(folder.files(".plimsoll").is_empty());
}

#[test]
fn calls_that_share_connections_need_few_descriptors() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let folder = TestFolder::new(&grpc_plan(target.addr()));
    folder.write("events.proto", PROTO);
    folder.plimsoll_after("ulimit -n 100", &["run", "plan.toml", "--quiet"]).exits_with(0);
    assert_eq!(target.requests(), 50);
}
