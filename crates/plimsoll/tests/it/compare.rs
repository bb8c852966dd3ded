//! Run files side by side: what is told, what is refused, and which files cannot be used.

use testbed::Behaviour;

use crate::command::{Place, Ran, closed};

/// A run file as the first version wrote it.
const VERSION_1: &[u8] = include_bytes!("../../../archive/tests/files/version-1.plimsoll");

/// Make a run of a second against a target that behaves so.
fn run(place: &Place, behaviour: Behaviour, file: &str) {
    let target = testbed::http(behaviour).unwrap();
    place.write("plan.toml", closed(target.addr(), 1));
    place.plimsoll(&["run", "plan.toml", "-q", "-o", file]).ended(0);
}

fn compare(place: &Place, files: &[&str]) -> Ran {
    place.plimsoll(&[&["compare"], files].concat())
}

#[test]
fn differences_of_latency_are_refused_where_error_rates_differ() {
    let place = Place::new("");
    run(&place, Behaviour::ok(), "sound.plimsoll");
    run(&place, Behaviour::status(503), "failing.plimsoll");
    let outputs = ["--html", "c.html", "--md", "c.md", "--json", "c.json"];
    let ran = compare(&place, &[&["sound.plimsoll", "failing.plimsoll"], &outputs[..]].concat());
    ran.ended(0).says(&[
        "MEASURED",
        "C1 error-rates-differ",
        "Latency of survivors is not",
        "refused",
        "http_503: A 0, B ",
        "S1 single-run",
        "What would decide it",
    ]);
    let expecting = ["failing.plimsoll", "--expect", "p95 -30%", "--expect", "avg +5%"];
    let told = compare(&place, &[&["sound.plimsoll"], &expecting[..]].concat());
    told.ended(0).says(&["M5 prediction-as-result", "never measured: p95 -30%", "never measured: avg +5%"]);
    let wrong = compare(&place, &["sound.plimsoll", "failing.plimsoll", "--expect", "much faster"]);
    wrong.ended(2).complains(&["is no expectation", "p95(list) -30%"]);
    let json = place.json("c.json");
    assert_eq!(json["schema"], "plimsoll.comparison/1");
    assert!(json["judgement"]["refusals"].as_array().unwrap().iter().any(|r| r["rule"] == "C1"));
    for file in ["c.html", "c.md"] {
        let text = place.read(file);
        assert!(text.contains("error-rates-differ") && text.contains("refused"), "{file}");
        assert!(!text.contains("src=\"http") && !text.contains("href=\"http"), "{file} loads something");
    }
}

#[test]
fn a_run_file_beside_itself_is_the_same_run() {
    let place = Place::new("");
    run(&place, Behaviour::ok(), "run.plimsoll");
    let ran = compare(&place, &["run.plimsoll", "run.plimsoll"]);
    ran.ended(0).says(&["Both are the same run", "B ÷ A", "1.00", "No claim on a difference was made"]);
    assert!(!ran.stdout.contains("error-rates-differ"), "{}", ran.stdout);
}

#[test]
fn three_runs_and_the_first_version_stand_side_by_side() {
    let place = Place::new("");
    place.write("old.plimsoll", VERSION_1);
    run(&place, Behaviour::ok(), "new.plimsoll");
    let ran = compare(&place, &["old.plimsoll", "new.plimsoll", "new.plimsoll"]);
    ran.ended(0).says(&[
        "3 runs side by side",
        "C3 load-shape-mismatch",
        "Endpoint `get`: in B, C, not in A.",
    ]);
    let on_stdout = compare(&place, &["old.plimsoll", "new.plimsoll", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&on_stdout.ended(0).stdout).unwrap();
    assert_eq!(json["sides"].as_array().unwrap().len(), 2);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let place = Place::new("");
    place.write("old.plimsoll", VERSION_1);
    place.write("text.plimsoll", "just some text");
    let ran = compare(&place, &["old.plimsoll", "text.plimsoll"]);
    ran.ended(2).complains(&["text.plimsoll", "it is a file of another kind"]);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    compare(&place, &["old.plimsoll"]).ended(2);
    let many = vec!["old.plimsoll"; 11];
    compare(&place, &many).ended(2).complains(&["at most 10"]);
}

#[test]
fn evidence_that_was_changed_is_no_baseline() {
    let place = Place::new("");
    place.write("old.plimsoll", VERSION_1);
    place.write("changed.plimsoll", VERSION_1);
    let file = rusqlite::Connection::open(place.path("changed.plimsoll")).unwrap();
    file.execute("UPDATE counts SET value = value + 1", []).unwrap();
    drop(file);
    let ran = compare(&place, &["changed.plimsoll", "old.plimsoll"]);
    ran.ended(0).says(&["C7 baseline-provenance", "changed after it was sealed", "refused"]);
}
