//! Changes to a plan from the command line, and what reaches the target.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use testbed::{Behaviour, Target};

use crate::command::{TestFolder, open, refusal};

fn target() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

#[test]
fn the_time_scale_shortens_the_run_and_keeps_the_rate() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 20));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "--time-scale", "0.1"]).exits_with(0);
    assert_eq!(target.requests(), 100);
}

#[test]
fn the_load_factor_multiplies_the_rate() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 1));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "--load", "0.4"]).exits_with(0);
    assert_eq!(target.requests(), 20);
}

#[test]
fn the_target_override_sends_the_load_elsewhere() {
    let (refusing, target) = (refusal(), target());
    let folder = TestFolder::new(&open(refusing.addr(), 1));
    let elsewhere = format!("api=http://{}/v2", target.addr());
    folder.plimsoll(&["run", "plan.toml", "--quiet", "--target", &elsewhere]).exits_with(0);
    let log = target.log();
    assert_eq!(log.len(), 50);
    assert!(log.iter().all(|served| served.path == "/v2/x"), "{:?}", log[0]);
}

#[test]
fn the_seed_decides_what_is_drawn() {
    let drawn = |seed: &str| {
        let target = target();
        let folder = TestFolder::new(&open(target.addr(), 1).replace("/x\"", "/x?n=${random(1, 1000000)}\""));
        folder.plimsoll(&["run", "plan.toml", "--quiet", "--seed", seed]).exits_with(0);
        target.log().into_iter().map(|served| served.query).collect::<BTreeSet<_>>()
    };
    assert_eq!(drawn("7"), drawn("7"));
    assert_ne!(drawn("7"), drawn("8"));
}

#[test]
fn loops_share_one_load() {
    let target = target();
    let folder = TestFolder::new(&open(target.addr(), 1));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "--loops", "3"]).exits_with(0);
    assert_eq!(target.requests(), 50);
}

#[test]
fn factors_that_are_not_positive_are_refused() {
    let folder = TestFolder::new(&open(([127, 0, 0, 1], 1).into(), 1));
    for (option, value) in [("--load", "0"), ("--time-scale", "-1"), ("--load", "NaN"), ("--loops", "0")] {
        folder.plimsoll(&["run", "plan.toml", option, value]).exits_with(2).stderr_contains(&[option]);
    }
}

/// The digest of the target's program is in the run file. A large one takes a while to read, in a build that is not optimised
/// more than the second that a late arrival is waited for.
#[test]
fn nothing_is_due_before_the_targets_program_was_read() {
    let target = target();
    let folder = TestFolder::new("");
    let program = folder.path("sleep");
    fs::copy("/bin/sleep", &program).unwrap();
    fs::File::options().write(true).open(&program).unwrap().set_len(64 << 20).unwrap();
    let mut process = Command::new(&program).arg("60").spawn().unwrap();
    let process_line = format!("[targets.api]\nprocess = {{ pid = {} }}", process.id());
    folder.write("plan.toml", open(target.addr(), 1).replace("[targets.api]", &process_line));
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "--json", "run.json"]);
    process.kill().unwrap();
    process.wait().unwrap();
    ran.exits_with(0);
    assert!(folder.json("run.json")["run"]["targets"]["api"]["exe_sha256"].is_string());
    assert_eq!(target.requests(), 50);
}
