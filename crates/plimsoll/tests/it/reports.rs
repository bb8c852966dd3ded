//! Verdicts, exit codes and reports of runs that went well.

use testbed::Behaviour;

use crate::command::{CommandOutput, TestFolder, closed};

/// Run a second's worth of a sound target with these objectives.
fn run_with(objectives: &str) -> (TestFolder, CommandOutput) {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 1) + "[objectives]\n" + objectives));
    let ran = folder.plimsoll(&["run", "plan.toml", "-q", "-o", "run.plimsoll"]);
    (folder, ran)
}

#[test]
fn met_objectives_pass() {
    let (folder, ran) = run_with("few_errors = \"error_rate(all) <= 0%\"\n");
    ran.exits_with(0).stdout_contains(&["PASS", "few_errors", "run.plimsoll"]);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(0).stdout_contains(&["PASS", "few_errors"]);
}

#[test]
fn a_run_without_objectives_is_measured() {
    let (_, ran) = run_with("");
    ran.exits_with(0).stdout_contains(&["MEASURED", "No objective was set"]);
}

#[test]
fn too_few_samples_are_inconclusive() {
    let (_, ran) = run_with("tail = \"p99(get) < 60s\"\n");
    ran.exits_with(4).stdout_contains(&["INCONCLUSIVE", "S4"]);
}

#[test]
fn an_undecided_verdict_need_not_fail_a_build() {
    let (folder, ran) = run_with("tail = \"p99(get) < 60s\"\n");
    ran.exits_with(4);
    let warned = folder.plimsoll(&["report", "run.plimsoll", "--inconclusive=warn", "--json", "-"]);
    warned.exits_with(0).stderr_contains(&["INCONCLUSIVE", "the exit code is 0"]);
    assert!(warned.stdout.contains("\"verdict\": \"INCONCLUSIVE\""), "{}", warned.stdout);
    let (_, violated) = run_with("busy = \"error_rate(all) > 50%\"\n");
    violated.exits_with(3);
}

#[test]
fn a_violated_objective_fails_beside_met_ones() {
    let (_, ran) = run_with("few_errors = \"error_rate(all) < 1%\"\nbusy = \"error_rate(all) > 50%\"\n");
    ran.exits_with(3).stdout_contains(&["FAIL", "busy"]);
}

#[test]
fn every_report_is_written_by_run_and_again_by_report() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder =
        TestFolder::new(&(closed(target.addr(), 1) + "[objectives]\nfew = \"error_rate(all) <= 0%\"\n"));
    let outputs = ["--html", "r.html", "--md", "r.md", "--json", "r.json", "--junit", "r.xml"];
    let files = ["r.html", "r.md", "r.json", "r.xml"];
    folder
        .plimsoll(&[&["run", "plan.toml", "-q", "-o", "run.plimsoll"], &outputs[..]].concat())
        .exits_with(0);
    let check = || {
        assert!(
            folder.read("r.html").starts_with("<!doctype html>")
                || folder.read("r.html").starts_with("<!DOCTYPE html>")
        );
        assert!(folder.read("r.md").contains("PASS"));
        assert_eq!(folder.json("r.json")["schema"], "plimsoll.report/1");
        assert!(folder.read("r.xml").contains("<testsuite"));
        for file in files {
            let text = folder.read(file);
            assert!(text.contains("few"), "{file}");
            std::fs::remove_file(folder.path(file)).unwrap();
        }
    };
    check();
    folder
        .plimsoll(&[&["report", "run.plimsoll"], &outputs[..]].concat())
        .exits_with(0)
        .stdout_contains(&["PASS"]);
    check();
}

#[test]
fn a_report_on_standard_output_is_alone_there() {
    let (folder, _) = run_with("");
    let ran = folder.plimsoll(&["report", "run.plimsoll", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&ran.exits_with(0).stdout).unwrap();
    assert_eq!(json["verdict"], "MEASURED");
    let junit = folder.plimsoll(&["report", "run.plimsoll", "--junit", "-"]);
    assert!(junit.exits_with(0).stdout.starts_with("<?xml"), "{}", junit.stdout);
}

#[test]
fn an_unwritable_report_exits_with_1_and_keeps_the_evidence() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let ran = folder.plimsoll(&["run", "plan.toml", "-q", "-o", "run.plimsoll", "--html", "no/such/r.html"]);
    ran.exits_with(1).stderr_contains(&["cannot write no/such/r.html"]);
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(0);
}
