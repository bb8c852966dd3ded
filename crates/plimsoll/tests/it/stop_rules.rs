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
    let rules = [
        ("error_rate(all) < 10%", Behaviour::status(503), "100.00 % so far"),
        ("avg(all) < 50ms", slow(), " ms so far"),
        ("max(all) < 50ms", slow(), " ms so far"),
    ];
    for (objective, behaviour, value) in rules {
        let target = testbed::http(behaviour).unwrap();
        let folder = TestFolder::new(&(closed(target.addr(), HOURS) + &with_rule(objective, "2s")));
        let ran = folder.plimsoll(&RUN);
        ran.exits_with(3)
            .stdout_contains(&["FAIL", "ended early at ", "by the plan's stop rule for strict"])
            .stderr_contains(&["stopping: strict: ", "does not hold", value]);
        let report = folder.json("run.json");
        assert_eq!(report["run"]["end"], serde_json::json!({"how": "stopped", "reason": "strict"}));
        let stopped_at_s = report["run"]["stopped_at_s"].as_f64().unwrap();
        assert!(stopped_at_s >= 2.0, "not before its delay is over: {stopped_at_s}");
        let verdicts: Vec<_> = report["claims"].as_array().unwrap().iter().map(|c| &c["verdict"]).collect();
        assert_eq!(verdicts, ["PASS", "FAIL"]);
        assert_eq!(report["accounting"]["cancelled"], 0, "what was in flight was waited for");
        // The file, judged again, has the same verdict.
        folder.plimsoll(&["report", "run.plimsoll"]).exits_with(3).stdout_contains(&["ended early at "]);
    }
}

#[test]
fn a_rule_that_holds_changes_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = closed(target.addr(), 2) + &with_rule("error_rate(all) < 10%", "0s");
    let folder = TestFolder::new(&plan);
    folder.plimsoll(&RUN).exits_with(0);
    let report = folder.json("run.json");
    assert_eq!(report["run"]["end"]["how"], "completed");
    assert!(report["run"]["stopped_at_s"].is_null());
}
