//! Targets that are offered more than they can do: what they did is the throughput, not what they were offered.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::Value;
use testbed::{Behaviour, Target};

use super::load::{PaperLoad, WitnessedRun, offer, plan};
use super::table::{assert_throughput_of_log, assert_witnessed};

/// What the target can do, a second.
const CAPACITY_PER_S: u64 = 195;
/// More than it can do.
const ASKED_PER_S: u64 = 230;
const LOAD: Duration = Duration::from_secs(4);

/// Serves one request at a time, and no more a second than its capacity.
fn small_target() -> Target {
    testbed::http(Behaviour::capacity(1, Duration::from_nanos(1_000_000_000 / CAPACITY_PER_S))).unwrap()
}

/// A load at this rate.
fn open(rate: u64, length: Duration) -> WitnessedRun {
    let target = small_target();
    let scenario = format!(
        "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nrate = \"{rate}/s\"\n\
         duration = \"{}s\"\nmax_vus = 400",
        length.as_secs()
    );
    let objectives = format!(
        "[objectives]\nheld = \"throughput(all) >= {ASKED_PER_S}/s\"\n\
         soon = \"goodput(all, within = 100ms) >= {ASKED_PER_S}/s\"\n"
    );
    offer(&target, &plan(&target, &scenario, &objectives), PaperLoad::constant(rate, length, 400))
}

fn verdict<'r>(run: &'r WitnessedRun, claim: &str) -> &'r Value {
    let claims = run.report["claims"].as_array().unwrap();
    &claims.iter().find(|of| of["name"] == claim).unwrap()["verdict"]
}

/// One that two tests look at.
fn overload() -> &'static WitnessedRun {
    static RUN: OnceLock<WitnessedRun> = OnceLock::new();
    RUN.get_or_init(|| open(260, LOAD))
}

#[test]
fn an_open_overload_is_reported_as_the_target_saw_it() {
    assert_witnessed("an open overload", overload());
    assert_throughput_of_log(overload());
}

/// vegeta counts successes until the last response, and divides by the time until then: while there is a backlog, that is
/// the capacity. Its times are those of its own machine's noise, and are not compared.
#[test]
fn vegeta_gives_the_same_throughput_of_the_same_overload() {
    let recorded: Value = serde_json::from_str(include_str!("peers/vegeta.json")).unwrap();
    let of_vegeta = recorded["report"]["throughput"].as_f64().unwrap();
    let ours = overload().report["headline"]["throughput_per_s"].as_f64().unwrap();
    assert!((ours / of_vegeta - 1.0).abs() <= 0.03, "{ours}/s, and vegeta {of_vegeta}/s");
}

#[test]
fn a_target_that_cannot_do_what_is_asked_fails_at_every_offered_rate() {
    for rate in [260, 700, 2_000] {
        // On a machine that is busy, the rates of the seconds differ: eight of them are enough.
        let run = open(rate, Duration::from_secs(8));
        assert_throughput_of_log(&run);
        assert_eq!(verdict(&run, "held"), "FAIL", "{rate}/s offered: {:#}", run.report["claims"]);
        assert_ne!(verdict(&run, "soon"), "PASS", "{rate}/s offered: {:#}", run.report["claims"]);
    }
}

#[test]
fn a_closed_overload_is_reported_as_the_target_saw_it() {
    let target = testbed::http(Behaviour::capacity(2, Duration::from_millis(20))).unwrap();
    let scenario = "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-vus\"\nvus = 12\nduration = \"4s\"";
    let objectives = "[objectives]\nheld = \"throughput(all) >= 50/s\"\n";
    let run = offer(&target, &plan(&target, scenario, objectives), PaperLoad::closed(12, LOAD));
    assert_witnessed("a closed overload", &run);
    assert_throughput_of_log(&run);
}
