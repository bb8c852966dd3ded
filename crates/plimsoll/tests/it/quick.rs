//! A target looked at for a quarter of a minute.

use testbed::{Behaviour, CannedResponse, GrpcBehaviour};

use crate::command::{Place, closed};
use crate::tonic_peer::{Reflects, start};

#[test]
fn a_sound_target_passes_and_what_was_not_seen_is_unknown() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    let ran = place.plimsoll(&["quick", &format!("http://{}/list", target.addr())]);
    ran.ended(0).says(&[
        "reachable     pass",
        "status        pass",
        "rate limiter  pass",
        "latency       pass",
        "ready         unknown",
    ]);
    assert!(!ran.stdout.contains("FAIL"), "{}", ran.stdout);
    assert!(place.files(".plimsoll").is_empty());
}

#[test]
fn a_limiter_is_seen_and_nobody_there_is_told() {
    let target = testbed::http(Behaviour::status(429)).unwrap();
    let place = Place::new("");
    let ran = place.plimsoll(&["quick", &format!("http://{}/list", target.addr())]);
    ran.ended(3).says(&["status        FAIL", "rate limiter  FAIL"]);
    let gone = place.plimsoll(&["quick", "http://127.0.0.1:1/"]);
    gone.ended(2).says(&["reachable     FAIL", "latency       unknown"]);
    place.plimsoll(&["quick", "api", "--plan", "missing.toml"]).ended(2);
}

/// A limiter as they are: it lets a few through, and says when to come again.
#[test]
fn a_limiter_that_only_a_burst_meets_is_seen() {
    let refused = CannedResponse::new(429).header("retry-after", "1");
    let mut answers = vec![Behaviour::ok(); 60];
    answers.extend(vec![Behaviour::from(refused); 240]);
    let target = testbed::http(Behaviour::Sequence(answers)).unwrap();
    let place = Place::new("");
    let ran = place.plimsoll(&["quick", &format!("http://{}/list", target.addr())]);
    ran.ended(3).says(&["status        pass", "latency       pass", "rate limiter  FAIL", "http_429"]);
}

#[test]
fn a_grpc_server_is_asked_by_its_health_service() {
    let place = Place::new("");
    let sound = start(Reflects::Nothing);
    let ran = place.plimsoll(&["quick", &format!("grpc://{}", sound.address)]);
    ran.ended(0).says(&[
        "reachable     pass",
        "ready         pass     it says SERVING",
        "rate limiter  pass",
    ]);
    let exhausted = GrpcBehaviour::Status { code: 8, message: "slow down".to_owned() };
    let limited = testbed::grpc(exhausted).unwrap();
    let ran = place.plimsoll(&["quick", &limited.addr().to_string()]);
    ran.ended(3).says(&["ready         FAIL", "rate limiter  FAIL", "RESOURCE_EXHAUSTED"]);
}

#[test]
fn a_grpc_server_is_asked_by_a_call_of_its_own() {
    let place = Place::new("");
    let peer = start(Reflects::V1);
    let call = format!("grpc://{}/grpc.health.v1.Health/Check", peer.address);
    place.plimsoll(&["quick", &call]).ended(0).says(&["status        pass"]);
    for gone in ["grpc://127.0.0.1:1", "grpc://127.0.0.1:1/a.B/C"] {
        place.plimsoll(&["quick", gone]).ended(2).says(&["reachable     FAIL", "latency       unknown"]);
    }
}

#[test]
fn a_plan_says_what_is_ready_and_what_is_expected() {
    let target = testbed::http(Behaviour::status(202)).unwrap();
    let ready = format!("wait_ready = {{ url = \"http://{}/healthz\" }}\n[[scenarios]]", target.addr());
    let plan = closed(target.addr(), 60).replacen("[[scenarios]]", &ready, 1);
    let place = Place::new(&plan);
    place.write("strict.toml", format!("{plan}expect = {{ status = 200 }}\n"));
    let quick = |file: &str| place.plimsoll(&["quick", "api", "--plan", file]);
    quick("plan.toml").ended(0).says(&["ready         pass", "status        pass", "resources     pass"]);
    quick("strict.toml").ended(3).says(&["ready         pass", "status        FAIL"]);
    place.plimsoll(&["quick", "web", "--plan", "plan.toml"]).ended(2).complains(&["no target `web`"]);
}
