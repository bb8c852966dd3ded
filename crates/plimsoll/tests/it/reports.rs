//! Verdicts, exit codes and reports of runs that went well.

use testbed::Behaviour;

use crate::command::{Place, Ran, closed};

/// Run a second's worth of a sound target with these objectives.
fn run_with(objectives: &str) -> (Place, Ran) {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&(closed(target.addr(), 1) + "[objectives]\n" + objectives));
    let ran = place.plimsoll(&["run", "plan.toml", "-q", "-o", "run.plimsoll"]);
    (place, ran)
}

#[test]
fn kept_objectives_pass() {
    let (place, ran) = run_with("few_errors = \"error_rate(all) < 1%\"\n");
    ran.ended(0).says(&["PASS", "few_errors", "run.plimsoll"]);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    place.plimsoll(&["report", "run.plimsoll"]).ended(0).says(&["PASS", "few_errors"]);
}

#[test]
fn nothing_asked_is_measured() {
    let (_, ran) = run_with("");
    ran.ended(0).says(&["MEASURED", "Nothing was asked"]);
}

#[test]
fn too_few_samples_are_inconclusive() {
    let (_, ran) = run_with("tail = \"p99(get) < 60s\"\n");
    ran.ended(4).says(&["INCONCLUSIVE", "S4"]);
}

#[test]
fn a_missed_objective_fails_even_beside_kept_ones() {
    let (_, ran) = run_with("few_errors = \"error_rate(all) < 1%\"\nbusy = \"error_rate(all) > 50%\"\n");
    ran.ended(3).says(&["FAIL", "busy"]);
}

#[test]
fn every_report_is_written_by_run_and_again_by_report() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&(closed(target.addr(), 1) + "[objectives]\nfew = \"error_rate(all) < 1%\"\n"));
    let outputs = ["--html", "r.html", "--md", "r.md", "--json", "r.json", "--junit", "r.xml"];
    let files = ["r.html", "r.md", "r.json", "r.xml"];
    place.plimsoll(&[&["run", "plan.toml", "-q", "-o", "run.plimsoll"], &outputs[..]].concat()).ended(0);
    let check = || {
        assert!(
            place.read("r.html").starts_with("<!doctype html>")
                || place.read("r.html").starts_with("<!DOCTYPE html>")
        );
        assert!(place.read("r.md").contains("PASS"));
        assert_eq!(place.json("r.json")["schema"], "plimsoll.report/1");
        assert!(place.read("r.xml").contains("<testsuite"));
        for file in files {
            let text = place.read(file);
            assert!(text.contains("few"), "{file}");
            std::fs::remove_file(place.path(file)).unwrap();
        }
    };
    check();
    place.plimsoll(&[&["report", "run.plimsoll"], &outputs[..]].concat()).ended(0).says(&["PASS"]);
    check();
}

#[test]
fn a_report_on_standard_output_is_alone_there() {
    let (place, _) = run_with("");
    let ran = place.plimsoll(&["report", "run.plimsoll", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&ran.ended(0).stdout).unwrap();
    assert_eq!(json["verdict"], "MEASURED");
    let junit = place.plimsoll(&["report", "run.plimsoll", "--junit", "-"]);
    assert!(junit.ended(0).stdout.starts_with("<?xml"), "{}", junit.stdout);
}

#[test]
fn a_report_that_cannot_be_written_is_our_failure_and_keeps_the_evidence() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let place = Place::new(&closed(target.addr(), 1));
    let ran = place.plimsoll(&["run", "plan.toml", "-q", "-o", "run.plimsoll", "--html", "no/such/r.html"]);
    ran.ended(1).complains(&["cannot write no/such/r.html"]);
    place.plimsoll(&["report", "run.plimsoll"]).ended(0);
}
