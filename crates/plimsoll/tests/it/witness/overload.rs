//! Targets that are offered more than they can do: what they did is the throughput, not what they were offered.

use std::time::Duration;

use serde_json::Value;
use testbed::{Behaviour, Target};

use super::load::{PaperLoad, WitnessedRun, offer, plan};
use super::table::{assert_throughput_of_log, assert_witnessed};

/// What the target can do, a second.
pub(super) const CAPACITY_PER_S: u64 = 195;
/// More than it can do.
pub(super) const ASKED_PER_S: u64 = 230;
pub(super) const LOAD: Duration = Duration::from_secs(4);

/// Serves one request at a time, and no more a second than its capacity.
pub(super) fn small_target() -> Target {
    testbed::http(Behaviour::capacity(1, Duration::from_nanos(1_000_000_000 / CAPACITY_PER_S))).unwrap()
}

/// A load at this rate, with as many virtual users as there are arrivals within a second.
fn open(rate: u64) -> WitnessedRun {
    let target = small_target();
    let scenario = format!(
        "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nrate = \"{rate}/s\"\n\
         duration = \"{}s\"\nmax_vus = 400",
        LOAD.as_secs()
    );
    let objectives = format!(
        "[objectives]\nheld = \"throughput(all) >= {ASKED_PER_S}/s\"\n\
         soon = \"goodput(all, within = 100ms) >= {ASKED_PER_S}/s\"\n"
    );
    offer(&target, &plan(&target, &scenario, &objectives), PaperLoad::constant(rate, LOAD, 400))
}

fn verdict<'r>(run: &'r WitnessedRun, claim: &str) -> &'r Value {
    let claims = run.report["claims"].as_array().unwrap();
    &claims.iter().find(|of| of["name"] == claim).unwrap()["verdict"]
}

#[test]
fn an_open_overload_is_reported_as_the_target_saw_it() {
    let run = open(260);
    assert_witnessed("an open overload", &run);
    assert_throughput_of_log(&run);
}

#[test]
fn a_target_that_cannot_do_what_is_asked_fails_at_every_offered_rate() {
    for rate in [260, 300, 500, 1_000, 2_000] {
        let run = open(rate);
        assert_throughput_of_log(&run);
        assert_eq!(verdict(&run, "held"), "FAIL", "{rate}/s offered: {:#}", run.report["claims"]);
        assert_eq!(verdict(&run, "soon"), "FAIL", "{rate}/s offered: {:#}", run.report["claims"]);
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
