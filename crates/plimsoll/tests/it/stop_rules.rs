//! Objectives that end a run when they fail.

use std::time::Duration;

use testbed::Behaviour;

use crate::command::{TestFolder, closed};

const RUN: [&str; 5] = ["run", "plan.toml", "-o", "run.plimsoll", "--json=run.json"];
/// Longer than any test waits.
const HOURS: u32 = 36_000;

fn with_rule(objective: &str, abort_after: &str) -> String {
    format!(
        "[objectives]\nany = \"error_rate(all) <= 100%\"\n[objectives.strict]\nis = \"{objective}\"\n\
         abort_on = \"fail\"\nabort_after = \"{abort_after}\"\n"
    )
}

#[test]
fn an_objective_that_fails_ends_the_run_and_decides_its_verdict() {
    let slow = || Behaviour::after(Duration::from_millis(60));
    // Where neighbours delayed every request, times decide nothing.
    let rules = [
        ("error_rate(all) < 10%", Behaviour::status(500), "100.00 % so far", &["FAIL"][..]),
        ("avg(all) < 50ms", slow(), " ms so far", &["FAIL", "INVALID"]),
        ("max(all) < 50ms", slow(), " ms so far", &["FAIL", "INVALID"]),
    ];
    for (objective, behaviour, value, expected) in rules {
        let target = testbed::http(behaviour).unwrap();
        let folder = TestFolder::new(&(closed(target.addr(), HOURS) + &with_rule(objective, "2s")));
        let ran = folder.plimsoll(&RUN);
        ran.stdout_contains(&["ended early at ", "by the plan's stop rule for strict"]).stderr_contains(&[
            "stopping: strict: ",
            "does not hold",
            value,
        ]);
        let report = folder.json("run.json");
        assert_eq!(report["run"]["end"], serde_json::json!({"how": "stopped", "reason": "strict"}));
        let stopped_at_s = report["run"]["stopped_at_s"].as_f64().unwrap();
        assert!(stopped_at_s >= 2.0, "not before its delay is over: {stopped_at_s}");
        let verdicts: Vec<_> = report["claims"].as_array().unwrap().iter().map(|c| &c["verdict"]).collect();
        assert_eq!(verdicts[0], "PASS");
        assert!(expected.iter().any(|verdict| verdicts[1] == verdict), "{verdicts:?}");
        assert_eq!(report["accounting"]["cancelled"], 0, "what was in flight was waited for");
        // The file, judged again, has the same verdict.
        let again = folder.plimsoll(&["report", "run.plimsoll"]);
        assert_eq!(again.code, ran.code);
        again.stdout_contains(&["ended early at "]);
    }
}

#[test]
fn a_rule_that_holds_changes_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = closed(target.addr(), 2) + &with_rule("error_rate(all) <= 0%", "0s");
    let folder = TestFolder::new(&plan);
    folder.plimsoll(&RUN).exits_with(0);
    let report = folder.json("run.json");
    assert_eq!(report["run"]["end"]["how"], "completed");
    assert!(report["run"]["stopped_at_s"].is_null());
}
