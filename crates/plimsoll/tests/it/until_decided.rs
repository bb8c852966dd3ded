//! Runs that end as soon as every objective is decided, or one is violated.

use std::time::Duration;

use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{TestFolder, closed, open};

const RUN: [&str; 6] = ["run", "plan.toml", "--until-decided", "-o", "run.plimsoll", "--json=run.json"];
/// Its half is a minute.
const PLANNED_S: u32 = 120;

fn with_objectives(plan: &str, objectives: &str) -> TestFolder {
    TestFolder::new(&format!("{plan}[objectives]\n{objectives}\n"))
}

/// How the run ended by its report, the verdicts on its objectives, and the confidence that decided the first.
fn ended(folder: &TestFolder) -> (String, Vec<String>, f64) {
    let report = folder.json("run.json");
    let claims = report["claims"].as_array().unwrap();
    let verdicts = claims.iter().map(|claim| claim["verdict"].as_str().unwrap().to_owned()).collect();
    let how = report["run"]["end"]["how"].as_str().unwrap().to_owned();
    (how, verdicts, claims[0]["share"]["confidence"].as_f64().unwrap())
}

const SOME_AND_FEW: &str = "some = \"p50(all) < 5s\"\nfew = \"error_rate(all) < 50%\"";
/// 99.9 % cannot be shown by some hundred requests.
const NEARLY_ALL: &str = "nearly_all = \"p99.9(all) < 5s\"";

/// Side by side, because the first look is after a minute.
#[test]
fn a_run_ends_at_the_first_look_that_decides_it() {
    std::thread::scope(|scope| {
        scope.spawn(a_run_that_passes_ends_early_and_judged_again_has_the_same_verdict);
        scope.spawn(one_violated_objective_ends_a_run);
        scope.spawn(a_run_goes_on_that_is_not_decided_and_ends_at_a_signal);
    });
}

fn a_run_that_passes_ends_early_and_judged_again_has_the_same_verdict() {
    // Every third request fails: an early look passes no error rate without a failure.
    let target = testbed::http(Behaviour::error_rate(3, 500)).unwrap();
    let folder = with_objectives(&closed(target.addr(), PLANNED_S), "few = \"error_rate(all) < 50%\"");
    let ran = folder.plimsoll(&[&RUN[..], &["--loops", "2"]].concat());
    ran.exits_with(0);
    ran.stderr_contains(&[
        "judged at 60 s, 90 s and at the end, each time at 98.1 %",
        "at 60 s every objective passes",
        "stopping at 90 s, every objective passed twice in turn",
    ]);
    ran.stdout_contains(&["after 75 % of the planned time, decided at 98.1 %"]);
    let (how, verdicts, confidence) = ended(&folder);
    assert_eq!((how.as_str(), verdicts, confidence), ("decided", vec!["PASS".to_owned()], 0.981));
    let report = folder.json("run.json");
    assert!(report["run"]["stopped_at_s"].as_f64().unwrap() < f64::from(PLANNED_S));
    assert_eq!(report["accounting"]["cancelled"], 0, "what was in flight was waited for");
    let completed = report["accounting"]["completed"].as_u64();
    assert_eq!(completed, Some(target.requests()), "what both loops sent is in the file that was judged");
    let again = folder.plimsoll(&["report", "run.plimsoll", "--json=again.json"]);
    assert_eq!(again.code, ran.code);
    assert_eq!(folder.json("again.json")["claims"], report["claims"]);
}

fn one_violated_objective_ends_a_run() {
    let target = testbed::http(Behaviour::error_rate(2, 500)).unwrap();
    // The second is exactly at its bound.
    let objectives = "few = \"error_rate(all) < 10%\"\nhalf = \"error_rate(all) < 50%\"";
    let folder = with_objectives(&closed(target.addr(), PLANNED_S), objectives);
    let ran = folder.plimsoll(&RUN);
    ran.exits_with(3);
    ran.stderr_contains(&["stopping at 60 s, violated: few"]);
    ran.stdout_contains(&["after 50 % of the planned time, decided at 98.1 %"]);
    assert_eq!(ended(&folder).0, "decided");
}

fn a_run_goes_on_that_is_not_decided_and_ends_at_a_signal() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(500))).unwrap();
    let folder = with_objectives(&closed(target.addr(), PLANNED_S), NEARLY_ALL);
    let mut run = folder.start(&RUN);
    run.until("the first half was judged", || {
        folder.read("stderr.txt").contains("at 60 s not decided yet: nearly_all")
    });
    run.signal(Signal::INT);
    run.end().exits_with(4).stdout_contains(&["interrupted"]);
    let (how, verdicts, confidence) = ended(&folder);
    assert_eq!((how.as_str(), verdicts, confidence), ("interrupted", vec!["INCONCLUSIVE".to_owned()], 0.981));
}

#[test]
fn a_run_that_is_too_short_to_be_judged_before_its_end_says_so() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = with_objectives(&closed(target.addr(), 2), SOME_AND_FEW);
    folder.plimsoll(&RUN).exits_with(0).stderr_contains(&["lasts to its planned end", "a look needs 60 s"]);
    let (how, verdicts, confidence) = ended(&folder);
    assert_eq!((how.as_str(), verdicts, confidence), ("completed", vec!["PASS".into(); 2], 0.95));
}

#[test]
fn an_objective_that_needs_the_whole_run_keeps_it_going_at_the_usual_confidence() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(1))).unwrap();
    let objectives = "some = \"p50(all) < 5s\"\nmean = \"avg(all) < 5s\"";
    let folder = with_objectives(&closed(target.addr(), 3), objectives);
    let needs = "`mean` is about a mean, a highest or a lowest time";
    folder.plimsoll(&RUN).exits_with(0).stderr_contains(&["lasts to its planned end", needs]);
    let (how, _, confidence) = ended(&folder);
    assert_eq!((how.as_str(), confidence), ("completed", 0.95));
}

#[test]
fn a_stop_rule_ends_the_run_before_it_is_judged_for_the_first_time() {
    let target = testbed::http(Behaviour::status(500)).unwrap();
    let objectives =
        "[objectives.strict]\nis = \"error_rate(all) < 10%\"\nabort_on = \"fail\"\nabort_after = \"1s\"";
    let folder = TestFolder::new(&(closed(target.addr(), 3_600) + objectives));
    folder.plimsoll(&RUN).exits_with(3).stderr_contains(&["stopping: strict: "]);
    let (how, verdicts, confidence) = ended(&folder);
    assert_eq!((how.as_str(), verdicts, confidence), ("stopped", vec!["FAIL".to_owned()], 0.981));
}

#[test]
fn there_must_be_something_to_decide() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 1));
    folder.plimsoll(&RUN).exits_with(2).stderr_contains(&["command line", "add `[objectives]`"]);
    assert_eq!(target.requests(), 0);
}
