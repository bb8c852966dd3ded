//! Comparisons of run files: what is shown, what is refused, and which files cannot be used.

use testbed::Behaviour;

use crate::command::{CommandOutput, TestFolder, closed};

/// A run file as the first version wrote it.
const VERSION_1: &[u8] = include_bytes!("../../../archive/tests/files/version-1.plimsoll");

/// Make a run of a second against a target that behaves so.
fn run(folder: &TestFolder, behaviour: Behaviour, file: &str) {
    let target = testbed::http(behaviour).unwrap();
    folder.write("plan.toml", closed(target.addr(), 1));
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", file]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
}

fn compare(folder: &TestFolder, files: &[&str]) -> CommandOutput {
    folder.plimsoll(&[&["compare"], files].concat())
}

#[test]
fn differences_of_latency_are_refused_where_error_rates_differ() {
    let folder = TestFolder::new("");
    run(&folder, Behaviour::ok(), "sound.plimsoll");
    run(&folder, Behaviour::status(503), "failing.plimsoll");
    let outputs = ["--html", "c.html", "--md", "c.md", "--json", "c.json"];
    let ran = compare(&folder, &[&["sound.plimsoll", "failing.plimsoll", "-v"], &outputs[..]].concat());
    ran.exits_with(0).stdout_contains(&[
        "MEASURED",
        "C1 error-rates-differ",
        "Latency of successes is not",
        "refused",
        "http_503: A 0, B ",
        "S1 single-run",
        "What would decide it",
    ]);
    let expecting = ["failing.plimsoll", "-v", "--expect", "p95 -30%", "--expect", "avg +5%"];
    let same = compare(&folder, &[&["sound.plimsoll"], &expecting[..]].concat());
    same.exits_with(0).stdout_contains(&[
        "M5 prediction-as-result",
        "never measured: p95 -30%",
        "never measured: avg +5%",
    ]);
    let wrong = compare(&folder, &["sound.plimsoll", "failing.plimsoll", "--expect", "much faster"]);
    wrong.exits_with(2).stderr_contains(&["is not an expectation", "p95(list) -30%"]);
    let json = folder.json("c.json");
    assert_eq!(json["schema"], "plimsoll.comparison/1");
    assert!(json["judgement"]["refusals"].as_array().unwrap().iter().any(|r| r["rule"] == "C1"));
    for file in ["c.html", "c.md"] {
        let text = folder.read(file);
        assert!(text.contains("error-rates-differ") && text.contains("refused"), "{file}");
        assert!(!text.contains("src=\"http") && !text.contains("href=\"http"), "{file} loads something");
    }
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let folder = TestFolder::new("");
    run(&folder, Behaviour::ok(), "run.plimsoll");
    std::fs::copy(folder.path("run.plimsoll"), folder.path("copy.plimsoll")).unwrap();
    for other in ["run.plimsoll", "copy.plimsoll"] {
        let ran = compare(&folder, &["run.plimsoll", other]);
        let same = format!("run.plimsoll and {other} are of the same run, which began at 20");
        ran.exits_with(2).stderr_contains(&[&same, "name the file of another run"]);
        assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    }
}

#[test]
fn three_runs_and_one_of_schema_1_are_compared() {
    let folder = TestFolder::new("");
    folder.write("old.plimsoll", VERSION_1);
    run(&folder, Behaviour::ok(), "new.plimsoll");
    let ran = compare(&folder, &["old.plimsoll", "new.plimsoll", "new.plimsoll"]);
    ran.exits_with(0).stdout_contains(&[
        "3 runs side by side",
        "C3 load-shape-mismatch",
        "Endpoint `get`: in B, C, not in A.",
    ]);
    let on_stdout = compare(&folder, &["old.plimsoll", "new.plimsoll", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&on_stdout.exits_with(0).stdout).unwrap();
    assert_eq!(json["sides"].as_array().unwrap().len(), 2);
}

#[test]
fn unreadable_files_are_refused() {
    let folder = TestFolder::new("");
    folder.write("old.plimsoll", VERSION_1);
    folder.write("text.plimsoll", "just some text");
    let ran = compare(&folder, &["old.plimsoll", "text.plimsoll"]);
    ran.exits_with(2).stderr_contains(&["text.plimsoll", "it is a file of another kind"]);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    compare(&folder, &["old.plimsoll"]).exits_with(2);
    let many = vec!["old.plimsoll"; 11];
    compare(&folder, &many).exits_with(2).stderr_contains(&["at most 10"]);
}

#[test]
fn a_changed_run_file_cannot_be_the_baseline() {
    let folder = TestFolder::new("");
    folder.write("old.plimsoll", VERSION_1);
    folder.write("changed.plimsoll", VERSION_1);
    let file = rusqlite::Connection::open(folder.path("changed.plimsoll")).unwrap();
    file.execute("UPDATE counts SET value = value + 1", []).unwrap();
    drop(file);
    let ran = compare(&folder, &["changed.plimsoll", "old.plimsoll"]);
    ran.exits_with(5).stdout_contains(&[
        "INVALID  A1 evidence-changed: The evidence in changed.plimsoll was changed after it was sealed.",
        "A · the whole run: The evidence was changed after it was sealed",
        "refused",
    ]);
}
