//! A target looked at for a quarter of a minute.

use testbed::{Behaviour, CannedResponse, GrpcBehaviour};

use crate::command::{TestFolder, closed};
use crate::tonic_peer::{Reflects, start};

#[test]
fn a_sound_target_passes_and_unobserved_checks_are_unknown() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let ran = folder.plimsoll(&["quick", &format!("http://{}/list", target.addr())]);
    ran.exits_with(0).stdout_contains(&[
        "reachable     pass",
        "status        pass",
        "rate limiter  pass",
        "latency       pass",
        "ready         unknown",
    ]);
    assert!(!ran.stdout.contains("FAIL"), "{}", ran.stdout);
    assert!(folder.files(".plimsoll").is_empty());
}

#[test]
fn a_rate_limiter_and_an_unreachable_target_are_reported() {
    let target = testbed::http(Behaviour::status(429)).unwrap();
    let folder = TestFolder::new("");
    let ran = folder.plimsoll(&["quick", &format!("http://{}/list", target.addr())]);
    ran.exits_with(3).stdout_contains(&["status        FAIL", "rate limiter  FAIL"]);
    let gone = folder.plimsoll(&["quick", "http://127.0.0.1:1/"]);
    gone.exits_with(2).stdout_contains(&["reachable     FAIL", "latency       unknown"]);
    let gone = folder.plimsoll(&["quick", "grpc://127.0.0.1:1/some.Service/Call"]);
    gone.exits_with(2).stdout_contains(&["reachable     FAIL", "its reflection cannot be asked"]);
    folder.plimsoll(&["quick", "api", "--plan", "missing.toml"]).exits_with(2);
}

/// A limiter as they are: it lets a few through, and says when to come again.
#[test]
fn a_rate_limiter_that_only_the_burst_reaches_is_reported() {
    let refused = CannedResponse::new(429).header("retry-after", "1");
    let mut answers = vec![Behaviour::ok(); 60];
    answers.extend(vec![Behaviour::from(refused); 240]);
    let target = testbed::http(Behaviour::Sequence(answers)).unwrap();
    let folder = TestFolder::new("");
    let ran = folder.plimsoll(&["quick", &format!("http://{}/list", target.addr())]);
    ran.exits_with(3).stdout_contains(&[
        "status        pass",
        "latency       pass",
        "rate limiter  FAIL",
        "http_429",
    ]);
}

#[test]
fn a_grpc_server_is_checked_by_its_health_service() {
    let folder = TestFolder::new("");
    let sound = start(Reflects::Nothing);
    let ran = folder.plimsoll(&["quick", &format!("grpc://{}", sound.address)]);
    ran.exits_with(0).stdout_contains(&[
        "reachable     pass",
        "ready         pass: it answers SERVING",
        "rate limiter  pass",
    ]);
    let exhausted = GrpcBehaviour::Status { code: 8, message: "slow down".to_owned() };
    let limited = testbed::grpc(exhausted).unwrap();
    let ran = folder.plimsoll(&["quick", &format!("grpc://{}", limited.addr())]);
    ran.exits_with(3).stdout_contains(&["ready         FAIL", "rate limiter  FAIL", "RESOURCE_EXHAUSTED"]);
}

#[test]
fn an_address_without_a_scheme_is_http_as_for_other_commands() {
    let folder = TestFolder::new("");
    let gone = folder.plimsoll(&["quick", "127.0.0.1:1/list"]);
    gone.exits_with(2).stdout_contains(&["reachable     FAIL"]).stderr_contains(&["target `target`"]);
}

#[test]
fn a_grpc_server_is_checked_by_a_named_call() {
    let folder = TestFolder::new("");
    let peer = start(Reflects::V1);
    let call = format!("grpc://{}/grpc.health.v1.Health/Check", peer.address);
    folder.plimsoll(&["quick", &call]).exits_with(0).stdout_contains(&["status        pass"]);
    for gone in ["grpc://127.0.0.1:1", "grpc://127.0.0.1:1/a.B/C"] {
        folder
            .plimsoll(&["quick", gone])
            .exits_with(2)
            .stdout_contains(&["reachable     FAIL", "latency       unknown"]);
    }
}

#[test]
fn readiness_and_expectations_come_from_the_plan() {
    let target = testbed::http(Behaviour::status(202)).unwrap();
    let ready = format!("wait_ready = {{ url = \"http://{}/healthz\" }}\n[[scenarios]]", target.addr());
    let plan = closed(target.addr(), 60).replacen("[[scenarios]]", &ready, 1);
    let folder = TestFolder::new(&plan);
    folder.write("strict.toml", format!("{plan}expect = {{ status = 200 }}\n"));
    let quick = |file: &str| folder.plimsoll(&["quick", "api", "--plan", file]);
    quick("plan.toml").exits_with(0).stdout_contains(&[
        "ready         pass",
        "status        pass",
        "resources     pass",
    ]);
    quick("strict.toml").exits_with(3).stdout_contains(&["ready         pass", "status        FAIL"]);
    folder
        .plimsoll(&["quick", "web", "--plan", "plan.toml"])
        .exits_with(2)
        .stderr_contains(&["no target `web`"]);
}

#[test]
fn an_error_that_only_reads_like_an_unreachable_target_is_no_finding() {
    let folder = TestFolder::new("");
    let ran = folder.plimsoll(&["quick", "api", "--plan", "nothing answers.toml"]);
    ran.exits_with(2).stderr_contains(&["nothing answers.toml"]);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
}
