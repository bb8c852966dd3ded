//! Arrivals that are dropped, by each cause, and a worker that is killed.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use testbed::{Behaviour, CannedResponse, now_ns};

use super::load::{Dropped, FILE, PaperLoad, WitnessedRun, offer, plan, witnessed};
use super::log::LoggedRequest;
use super::table::{assert_throughput_of_log, assert_witnessed, disagreements};
use crate::command::{HANG, TestFolder, recorded_seconds};

/// Five virtual users, which a target that takes 40 ms keeps busy; every seventh request fails at once.
#[test]
fn drops_at_the_vu_limit_and_failures_are_reported_as_the_target_saw_them() {
    let (failing, answer) =
        (Box::new(Behaviour::status(503)), CannedResponse::new(200).after(Duration::from_millis(40)));
    let behaviour = Behaviour::EveryNth { nth: 7, failing, otherwise: Box::new(answer.into()) };
    let target = testbed::http(behaviour).unwrap();
    let scenario = "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nrate = \"250/s\"\n\
                    duration = \"3s\"\nmax_vus = 5";
    let objectives = "[objectives]\nheld = \"throughput(all) >= 200/s\"\n\
                      good = \"goodput(all, within = 1000ms) >= 200/s\"\n";
    let paper = PaperLoad::constant(250, Duration::from_secs(3), 5);
    let run = offer(&target, &plan(&target, scenario, objectives), paper);
    assert_witnessed("drops at the VU limit", &run);
    assert_throughput_of_log(&run);
    assert!(run.log.len() < 700, "{} of 750 arrivals reached the target", run.log.len());
}

/// The command is stopped for 1.6 s. What was due more than 1 s before it goes on is dropped.
#[test]
fn drops_of_a_generator_that_was_late_are_reported_as_the_target_saw_them() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(5))).unwrap();
    let scenario = "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nrate = \"100/s\"\n\
                    duration = \"4s\"\nmax_vus = 500";
    let objectives = "[objectives]\nheld = \"throughput(all) >= 50/s\"\n";
    let folder = TestFolder::new(&plan(&target, scenario, objectives));
    let mut command = folder.start(&["run", "plan.toml", "--quiet", "-o", FILE]);
    assert!(target.wait_for(HANG, |log| log.len() >= 100));
    command.signal(Signal::STOP);
    let stopped_ns = now_ns();
    command.until("it was stopped for 1.6 s", || now_ns() - stopped_ns >= 1_600_000_000);
    command.signal(Signal::CONT);
    let continued_ns = now_ns();
    let ran = command.end();
    let ended_ns = now_ns();
    assert!(ran.code.is_some_and(|code| [0, 3, 4, 5].contains(&code)), "{ran:?}");
    let paper = PaperLoad {
        dropped: Dropped::GeneratorLate,
        ..PaperLoad::constant(100, Duration::from_secs(4), 500)
    };
    let run = witnessed(&folder, &target, paper, ended_ns);
    assert_witnessed("drops of a late generator", &run);
    assert_throughput_of_log(&run);
    // More than 0.5 s of the stop were too long ago.
    let dropped = 400 - run.log.len();
    let stopped_for = (continued_ns - stopped_ns) / 10_000_000;
    assert!(dropped >= 50 && dropped <= stopped_for, "{dropped}, stopped for {stopped_for} arrivals");
}

/// Between two arrivals of that load.
const DISTANCE_NS: u64 = 50_000_000;

/// The second of two workers, which has the arrivals with odd numbers, is killed. What it counted in its last second is
/// lost, and what it should have offered from then on was dropped by the generator.
#[test]
fn the_load_of_a_killed_worker_is_reported_as_the_target_saw_it() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let scenario = "[[scenarios]]\nname = \"load\"\nexecutor = \"constant-arrival-rate\"\nrate = \"20/s\"\n\
                    duration = \"6s\"\nmax_vus = 100";
    let folder = TestFolder::new(&plan(&target, scenario, ""));
    let mut command = folder.start(&["run", "plan.toml", "--quiet", "--workers", "2", "-o", FILE]);
    let path = folder.path(FILE);
    command.until("seconds are recorded", || recorded_seconds(&path) >= 3);
    kill_process(workers(&path)[1], Signal::KILL).unwrap();
    command.end().stdout_contains(&["W1", "worker 2", "vanished"]);
    let ended_ns = now_ns();
    let paper =
        PaperLoad { dropped: Dropped::GeneratorLate, ..PaperLoad::constant(20, Duration::from_secs(6), 100) };
    let run = witnessed(&folder, &target, paper, ended_ns);
    let of_second = |request: &LoggedRequest| request.due_ns.unwrap() / DISTANCE_NS % 2 == 1;
    // The seconds of its that were recorded: known to the third, within one.
    let found: Vec<Vec<String>> = (1..=3)
        .map(|seconds: u64| {
            let is_due = |request: &LoggedRequest| request.due_ns.unwrap() < seconds * 1_000_000_000;
            let is_counted = |request: &LoggedRequest| {
                !of_second(request) || is_due(request) && run.log.is_within(request, seconds)
            };
            // Those that began late, in the second after theirs, which was lost.
            let lost = run.log.count(|request| is_due(request) && !is_counted(request));
            let run = run.counting(is_counted, lost);
            let mut found = disagreements(&run);
            found.extend(of_workers(&run));
            found
        })
        .collect();
    assert!(found.iter().any(Vec::is_empty), "{found:#?}");
}

/// What was dropped of each worker's arrivals, and how many it began a second of the six.
fn of_workers(run: &WitnessedRun) -> Vec<String> {
    let began = |nth: u64| run.log.count(|request| request.due_ns.unwrap() / DISTANCE_NS % 2 == nth);
    let mut found = Vec::new();
    for (nth, worker) in (0..).zip(run.report["workers"].as_array().unwrap()) {
        let rate = worker["offered_per_s"].as_f64().unwrap();
        // The run lasts some milliseconds longer than its plan.
        let is_its_rate = (rate / (began(nth) as f64 / 6.0) - 1.0).abs() < 0.02;
        if worker["dropped_late"] != 60 - began(nth) - nth * run.paper.lost || !is_its_rate {
            found.push(format!("worker {nth} began {} of 60: {worker}", began(nth)));
        }
    }
    found
}

/// The processes of a run's workers.
fn workers(path: &std::path::Path) -> Vec<Pid> {
    let file = rusqlite::Connection::open(path).unwrap();
    let question = "SELECT value FROM manifest WHERE name = 'workers'";
    let workers: String = file.query_row(question, [], |row| row.get(0)).unwrap();
    let workers: Vec<serde_json::Value> = serde_json::from_str(&workers).unwrap();
    let pid = |worker: &serde_json::Value| Pid::from_raw(worker["pid"].as_i64().unwrap() as i32).unwrap();
    workers.iter().map(pid).collect()
}
