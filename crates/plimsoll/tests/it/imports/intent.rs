//! `--intent`: the plan that a tool was to carry out.

use super::{fixture, says};
use crate::command::{CommandOutput, TestFolder};

/// The plan of the fixtures of k6, with this rate of `browse` and these objectives.
fn plan(rate: &str, objectives: &str) -> String {
    format!(
        r#"version = 1
name = "shop"

[targets.web]
url = "http://127.0.0.1:43781"

[[phases]]
name = "first"
duration = "1s"

[[phases]]
name = "second"
duration = "1s"

[[scenarios]]
name = "browse"
executor = "constant-arrival-rate"
rate = "{rate}"
max_vus = 4

[[scenarios.steps]]
name = "list"
timeout = "50ms"
get = "${{web.url}}/list"

[[scenarios]]
name = "stalled"
executor = "constant-arrival-rate"
rate = "4/s"

[[scenarios.steps]]
name = "gone"
timeout = "50ms"
get = "${{web.url}}/gone"

[objectives]
{objectives}
"#
    )
}

/// An import of this file with this plan, from a folder of its own.
fn import(file: &str, plan: &str) -> (TestFolder, CommandOutput) {
    let folder = TestFolder::new(plan);
    folder.write(file, std::fs::read(fixture(file)).unwrap());
    let ran = folder.plimsoll(&[
        "import",
        file,
        "--intent",
        "plan.toml",
        "-o",
        "run.plimsoll",
        "--json",
        "run.json",
    ]);
    (folder, ran)
}

#[test]
fn the_plans_phases_objectives_and_rates_apply() {
    let objectives = r#"few = "error_rate(list, phase = first) <= 0%"
late = "throughput(list, phase = second) > 1/s""#;
    let (folder, ran) = import("k6.ndjson", &plan("6/s", objectives));
    ran.exits_with(3);
    says(&ran.stdout, &["FAIL", "few", "late", "those of the plan `shop`"]);
    let report = folder.json("run.json").to_string();
    assert!(report.contains("\"phase\":\"first\"") && report.contains("\"phase\":\"second\""), "{report}");
    assert!(!ran.stdout.contains("whether the planned load was offered is unknown"));
}

#[test]
fn less_load_than_planned_is_invalid() {
    let (_folder, ran) = import("k6.ndjson", &plan("56/s", "fast = \"p95(list) < 200ms\""));
    ran.exits_with(5);
    says(&ran.stdout, &["L1 offered-load-not-reached", "The plan has 120 arrivals, k6 counted 22"]);
}

#[test]
fn a_plan_that_has_nothing_to_do_with_the_run_is_refused() {
    let other = plan("6/s", "")
        .replace("browse", "search")
        .replace("stalled", "idle")
        .replace("\"list\"", "\"find\"");
    for (file, plan, why) in [
        ("k6.ndjson", other.as_str(), "the plan has `find`, `gone`, `idle`, `search`, the file has"),
        ("locust_stats.csv", other.as_str(), "has nothing in common with locust_stats.csv"),
        ("k6.ndjson", &plan("6/s", "").replace("\"1s\"", "\"5m\""), "takes 600 s and this run took 2 s"),
        (
            "k6-summary.json",
            &plan("6/s", "").replace("\"1s\"", "\"5m\""),
            "takes 600 s and this run took 2 s",
        ),
    ] {
        let (folder, ran) = import(file, plan);
        ran.exits_with(2).stderr_contains(&[why]);
        assert!(folder.files("run.plimsoll").is_empty());
    }
}
