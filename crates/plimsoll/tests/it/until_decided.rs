//! Runs that end as soon as every objective is decided.

use std::time::Duration;

use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{TestFolder, closed, open};

const RUN: [&str; 6] = ["run", "plan.toml", "--until-decided", "-o", "run.plimsoll", "--json=run.json"];
/// Longer than any test waits; its quarter is 3 s.
const PLANNED_S: u32 = 12;

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

#[test]
fn a_run_that_is_decided_ends_early_and_judged_again_has_the_same_verdict() {
    for (behaviour, code, verdict) in [(Behaviour::ok(), 0, "PASS"), (Behaviour::status(500), 3, "FAIL")] {
        let target = testbed::http(behaviour).unwrap();
        let objectives = "some = \"p50(all) < 5s\"\nfew = \"error_rate(all) < 50%\"";
        let folder = with_objectives(&closed(target.addr(), PLANNED_S), objectives);
        let ran = folder.plimsoll(&RUN);
        ran.exits_with(code);
        ran.stderr_contains(&[
            "judged at 3 s, 6 s, 9 s and at the end, each time at 98.1 %",
            "stopping: every",
        ]);
        ran.stdout_contains(&["% of the planned time: every objective decided at 98.1 %"]);
        let (how, verdicts, confidence) = ended(&folder);
        assert_eq!((how.as_str(), verdicts, confidence), ("decided", vec![verdict.to_owned(); 2], 0.981));
        let report = folder.json("run.json");
        assert!(report["run"]["stopped_at_s"].as_f64().unwrap() < f64::from(PLANNED_S));
        assert_eq!(report["accounting"]["cancelled"], 0, "what was in flight was waited for");
        let again = folder.plimsoll(&["report", "run.plimsoll", "--json=again.json"]);
        assert_eq!(again.code, ran.code);
        assert_eq!(folder.json("again.json")["claims"], report["claims"]);
    }
}

#[test]
fn a_run_that_is_not_decided_lasts_to_its_planned_end() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    // 99.9 % cannot be shown by a few hundred requests.
    let objectives = "some = \"p50(all) < 5s\"\nnearly_all = \"p99.9(all) < 5s\"";
    let folder = with_objectives(&closed(target.addr(), 4), objectives);
    folder.plimsoll(&RUN).exits_with(4).stderr_contains(&["not decided yet: nearly_all"]);
    let (how, verdicts, confidence) = ended(&folder);
    assert_eq!(
        (how.as_str(), verdicts, confidence),
        ("completed", vec!["PASS".into(), "INCONCLUSIVE".into()], 0.981)
    );
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
fn several_loops_are_judged_together() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let objectives = "some = \"p50(all) < 5s\"\nfew = \"error_rate(all) < 50%\"";
    let folder = with_objectives(&closed(target.addr(), PLANNED_S), objectives);
    let arguments = [&RUN[..], &["--loops", "2"]].concat();
    folder.plimsoll(&arguments).exits_with(0).stderr_contains(&["stopping: every"]);
    let (how, verdicts, confidence) = ended(&folder);
    assert_eq!((how.as_str(), verdicts, confidence), ("decided", vec!["PASS".to_owned(); 2], 0.981));
    let counted = folder.json("run.json")["accounting"]["ok"].as_u64();
    assert_eq!(counted, Some(target.requests()), "what both loops sent is in the file that was judged");
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
fn a_signal_ends_a_run_that_is_not_decided_yet() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    // 99.9 % cannot be shown by a few hundred requests, so that the first quarter decides nothing.
    let folder = with_objectives(&closed(target.addr(), PLANNED_S), "nearly_all = \"p99.9(all) < 5s\"");
    let mut run = folder.start(&RUN);
    run.until("the first quarter was judged", || {
        folder.read("stderr.txt").contains("not decided yet: nearly_all")
    });
    run.signal(Signal::INT);
    run.end().exits_with(4).stdout_contains(&["interrupted"]);
    let (how, verdicts, confidence) = ended(&folder);
    assert_eq!((how.as_str(), verdicts, confidence), ("interrupted", vec!["INCONCLUSIVE".to_owned()], 0.981));
}

#[test]
fn there_must_be_something_to_decide() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 1));
    folder.plimsoll(&RUN).exits_with(2).stderr_contains(&["command line", "add `[objectives]`"]);
    assert_eq!(target.requests(), 0);
}
