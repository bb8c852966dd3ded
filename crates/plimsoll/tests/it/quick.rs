//! A target looked at for a quarter of a minute.

use testbed::Behaviour;

use crate::command::{Place, closed};

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
