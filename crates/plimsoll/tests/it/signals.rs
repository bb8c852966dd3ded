//! Runs that are killed, interrupted and held up.

use std::time::Duration;

use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{HANG, Running, TestFolder, closed, open, recorded_seconds};

const FEW_ERRORS: &str = "[objectives]\nfew_errors = \"error_rate(all) < 1%\"\n";
const RUN: [&str; 5] = ["run", "plan.toml", "-o", "run.plimsoll", "--json=run.json"];

/// Wait until the run file holds so many seconds.
fn until_recorded(run: &mut Running, folder: &TestFolder, seconds: i64) {
    let path = folder.path("run.plimsoll");
    run.until("seconds are recorded", || recorded_seconds(&path) >= seconds);
}

#[test]
fn a_killed_run_is_reported_up_to_its_last_second() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 60) + FEW_ERRORS));
    let mut run = folder.start(&RUN);
    until_recorded(&mut run, &folder, 2);
    // A run file can be read while it is written.
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(4);
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None);
    let ran = folder.plimsoll(&["report", "run.plimsoll", "--json", "run.json", "--html", "run.html"]);
    ran.exits_with(4).stdout_contains(&["INCONCLUSIVE", "killed at second", "of 60"]);
    let report = folder.json("run.json");
    assert_eq!(report["run"]["end"]["how"], "killed");
    assert!(report["run"]["seconds"].as_u64() >= Some(2));
    assert!(report["accounting"]["by_outcome"]["ok"].as_u64() > Some(0));
    assert!(folder.read("run.html").contains("killed"));
    // Reading it again gives the same report.
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(4).stdout_contains(&["killed at second"]);
}

#[test]
fn an_interrupted_run_drains_is_sealed_and_inconclusive() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(300))).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 60) + FEW_ERRORS));
    let mut run = folder.start(&RUN);
    until_recorded(&mut run, &folder, 1);
    run.signal(Signal::INT);
    let ran = run.end();
    ran.exits_with(4)
        .stdout_contains(&["INCONCLUSIVE", "interrupted"])
        .stderr_contains(&["stopping: no new arrivals"]);
    let report = folder.json("run.json");
    assert_eq!(report["run"]["end"]["how"], "interrupted");
    let accounting = &report["accounting"];
    assert_eq!(
        (&accounting["cancelled"], &accounting["failed"], &accounting["requests_in_flight"]),
        (&0.into(), &0.into(), &0.into())
    );
    assert_eq!(accounting["ok"].as_u64(), Some(target.requests()), "what was in flight was waited for");
    assert!(folder.files("-wal").is_empty(), "a sealed run is one file");
    folder
        .plimsoll(&["report", "run.plimsoll"])
        .exits_with(4)
        .stdout_contains(&["interrupted at ", " s of 60 s"]);
    let stopped_at_s = report["run"]["stopped_at_s"].as_f64().unwrap();
    assert!((1.0..60.0).contains(&stopped_at_s), "{stopped_at_s}");
}

/// Its first response comes seconds after the interrupt, and the second in which that came is the first of the load: without
/// the instant at which it was stopped nothing would be left of the phase.
#[test]
fn a_phase_that_was_cut_in_its_first_second_has_the_rates_of_the_time_that_it_had() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(1_500))).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 60));
    let run = folder.start(&RUN);
    assert!(target.wait_for(HANG, |log| log.len() >= 10));
    run.signal(Signal::INT);
    let ran = run.end();
    ran.exits_with(4);
    let report = folder.json("run.json");
    let phase = &report["phases"][0];
    let [covered_s, stopped_at_s] =
        [&phase["covered_s"], &report["run"]["stopped_at_s"]].map(|value| value.as_f64().unwrap());
    assert!(covered_s > 0.0 && (covered_s - stopped_at_s).abs() < 1e-6, "{covered_s} {stopped_at_s}");
    ran.stdout_contains(&[", cut short of 60 s"]);
}

#[test]
fn a_second_interrupt_ends_at_once() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 60) + FEW_ERRORS));
    let mut run = folder.start(&RUN);
    assert!(target.wait_for(HANG, |log| log.len() == 2));
    until_recorded(&mut run, &folder, 1);
    run.signal(Signal::INT);
    run.until("it drains", || folder.read("stderr.txt").contains("stopping"));
    run.signal(Signal::INT);
    let ran = run.end();
    assert!(matches!(ran.code, Some(4 | 5)), "{ran:?}");
    ran.stderr_contains(&["ending at once"]);
    let report = folder.json("run.json");
    assert_eq!(
        (&report["run"]["end"]["how"], &report["accounting"]["cancelled"]),
        (&"interrupted".into(), &2.into())
    );
}

#[test]
fn an_interrupt_before_the_load_leaves_nothing() {
    let refusing = testbed::refuse().unwrap();
    let wait = "wait_ready = { url = \"${api.url}/ready\", within = \"60s\" }\n[[scenarios]]";
    let folder = TestFolder::new(&closed(refusing.addr(), 1).replacen("[[scenarios]]", wait, 1));
    // Tests may be started with interrupts ignored or not: both are tried.
    for (preparation, signal) in
        [(":", Signal::INT), ("trap '' INT TERM", Signal::INT), ("trap '' INT TERM", Signal::TERM)]
    {
        let mut run = folder.start_after(preparation, &RUN);
        run.until("it waits", || folder.read("stderr.txt").contains("waiting up to"));
        run.signal(signal);
        let ran = run.end();
        assert_eq!((ran.code, ran.signal), (None, Some(signal.as_raw())), "{preparation}");
        let last = ran.stderr.lines().last();
        assert_eq!(last, Some("plimsoll: stopped before the load; nothing was recorded"), "{preparation}");
        assert!(folder.files(".plimsoll").is_empty(), "{preparation}");
    }
}

#[test]
fn a_stalled_generator_makes_the_run_invalid() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&(open(target.addr(), 5) + FEW_ERRORS));
    let mut run = folder.start(&RUN);
    until_recorded(&mut run, &folder, 1);
    run.signal(Signal::STOP);
    // The stall itself is what is tested: nothing else passes while the process is stopped.
    std::thread::sleep(Duration::from_secs(3));
    run.signal(Signal::CONT);
    run.end().exits_with(5).stdout_contains(&["INVALID", "L1"]);
    let report = folder.json("run.json");
    let rules: Vec<_> =
        report["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert!(rules.contains(&"L1") && rules.contains(&"L2") && !rules.contains(&"L6"), "{rules:?}");
    let arrivals = &report["accounting"]["arrivals"];
    let count = |name: &str| arrivals[name].as_u64().unwrap();
    assert!(count("dropped_late") > 50, "{arrivals}");
    assert_eq!(count("scheduled"), 250);
    assert_eq!(count("started") + count("dropped_late") + count("dropped_cap"), 250, "{arrivals}");
    assert_eq!(count("started"), target.requests());
}
