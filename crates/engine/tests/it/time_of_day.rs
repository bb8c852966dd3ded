//! The time of day that requests are given, when it is set during the run.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use evidence::Outcome;
use jiff::Timestamp;
use peers::faketime::Clock;
use testbed::{Behaviour, Served, Target};

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, Tuned as _, at_rate, get, ms, scenario, sequence};

/// The file that sets the time of day of a process under libfaketime.
const FILE: &str = "FAKETIME_TIMESTAMP_FILE";
const HOUR_S: f64 = 3_600.0;

#[test]
fn requests_are_given_the_time_of_day_that_is_set_during_the_run() {
    let clock = Clock::start().unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "time_of_day::a_run_in_which_it_is_set", "--nocapture", "--test-threads=1"])
        .envs(clock.env())
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}

/// The time of day that a request had, less the time at which the target received it, in seconds.
fn ahead_s(served: &Served) -> f64 {
    let (_, text) = served.headers.iter().find(|(name, _)| name == "x-now").unwrap();
    let said: Timestamp = text.parse().unwrap();
    said.as_nanosecond() as f64 / 1e9 - served.received_ns as f64 / 1e9
}

fn last_ahead_s(target: &Target) -> f64 {
    target.log().last().map_or(0.0, ahead_s)
}

/// Runs in the other process.
#[test]
fn a_run_in_which_it_is_set() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let target = Arc::new(testbed::http(Behaviour::ok()).unwrap());
    let step = get("get", "/").header("x-now", "${now()}");
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(50.0, ms(60_000)), sequence([step])));
    let drive = Drive::new(plan.compile());
    let (control, seen) = (drive.control(), target.clone());
    let setting = thread::spawn(move || {
        let wait_until = |condition: &dyn Fn() -> bool| {
            while !condition() {
                thread::park_timeout(ms(5));
            }
        };
        wait_until(&|| seen.requests() > 5);
        let before_s = last_ahead_s(&seen);
        fs::write(&file, "+3600\n").unwrap();
        wait_until(&|| last_ahead_s(&seen) - before_s > HOUR_S - 10.0);
        control.drain();
    });
    let ran = drive.run();
    setting.join().unwrap();
    assert_eq!(ran.assert_sound().outcomes("get").keys().copied().collect::<Vec<_>>(), [Outcome::Ok]);
    let log = target.log();
    let moved_s = ahead_s(log.last().unwrap()) - ahead_s(&log[0]);
    assert!((HOUR_S - 10.0..HOUR_S + 10.0).contains(&moved_s), "{moved_s}");
}
