//! What `teardown` does belongs to the run: its requests, checks and values of metrics are in k6's summary and thresholds, and in
//! no phase of the load.

use std::path::Path;

use serde_json::{Value, json};
use testbed::{Behaviour, CannedResponse, Site};

use crate::command::TestFolder;
use crate::k6_scripts::folder;

/// The rows of a report whose requests belong to this phase, by endpoint, with how many there were.
fn requests_of(report: &Value, phase: &str) -> Vec<(String, u64)> {
    let rows = report["endpoints"].as_array().unwrap().iter().filter(|row| row["phase"] == phase);
    let count = |row: &Value| row["requests"].as_u64().unwrap();
    rows.map(|row| (row["endpoint"].as_str().unwrap().to_owned(), count(row))).collect()
}

#[test]
fn a_check_that_fails_in_teardown_fails_its_threshold() {
    let script = "
        import http from 'k6/http';
        import { check } from 'k6';
        import { Counter } from 'k6/metrics';
        const mine = new Counter('mine');
        export const options = {
            iterations: 1, thresholds: { checks: ['rate==1'], mine: ['count==3'], http_reqs: ['count==3'] },
        };
        export function setup() { http.get(__ENV.BASE); mine.add(1); check(1, { 'set up': () => true }); }
        export default function () { http.get(__ENV.BASE); mine.add(1); }
        export function teardown() {
            http.get(__ENV.BASE, { tags: { name: 'clean up' } });
            mine.add(1);
            check(1, { 'cleaned up': () => false });
        }";
    let (folder, target) = folder(script, Behaviour::ok());
    let base = format!("BASE=http://{}", target.addr());
    let fixed = ["run", "script.js", "-e", &base, "--quiet", "--evidence", "run.plimsoll"];
    let ran =
        folder.plimsoll(&[&fixed[..], &["--summary-export", "summary.json", "--json", "run.json"]].concat());
    ran.exits_with(99).stdout_contains(&["✗ 'rate==1'", "✓ 'count==3'"]);
    let metrics = &folder.json("summary.json")["metrics"];
    assert_eq!((&metrics["checks"]["passes"], &metrics["checks"]["fails"]), (&json!(1), &json!(1)));
    assert_eq!((&metrics["mine"]["count"], target.requests()), (&json!(3), 3));
    assert_eq!(metrics["http_reqs"]["count"], 3);
    assert_eq!(requests_of(&folder.json("run.json"), "teardown"), [("clean up".to_owned(), 1)]);
    // A file that is read again says the same.
    folder.plimsoll(&["report", "run.plimsoll", "--json", "again.json"]);
    assert_eq!(requests_of(&folder.json("again.json"), "teardown"), [("clean up".to_owned(), 1)]);
}

#[test]
fn what_teardown_counts_is_what_k6_has_recorded() {
    let folder = TestFolder::new("");
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../k6/tests/recordings");
    let script = recordings.join("odd.js");
    let fixed = ["--quiet", "--evidence", "run.plimsoll", "--summary-export", "summary.json"];
    folder.plimsoll(&[&["run", script.to_str().unwrap()], &fixed[..]].concat());
    let recorded = std::fs::read(recordings.join("odd-full/export.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&recorded).unwrap();
    let count = |summary: &Value| summary["metrics"]["ticks"]["count"].clone();
    // Two in each of two iterations, and one in teardown.
    assert_eq!((count(&folder.json("summary.json")), count(&recorded)), (json!(5), json!(5)));
}

#[test]
fn requests_of_teardown_count_for_no_objective() {
    let script = "
        import http from 'k6/http';
        export const options = { vus: 2, iterations: 400 };
        export default function () { http.get(`${__ENV.BASE}/item`); }
        export function teardown() { for (let i = 0; i < 400; i++) http.get(`${__ENV.BASE}/gone`); }";
    let site = Site::new().at("/gone", CannedResponse::new(404).into()).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    folder.write("policy.toml", "version = 1\n[objectives]\nfew = \"error_rate(all) < 30%\"\n");
    let base = format!("BASE=http://{}", target.addr());
    let fixed =
        ["run", "script.js", "-e", &base, "--quiet", "--evidence", "run.plimsoll", "--json", "run.json"];
    folder.plimsoll(&[&fixed[..], &["--policy", "policy.toml"]].concat()).exits_with(0);
    let report = folder.json("run.json");
    let claim = report["claims"].as_array().unwrap().iter().find(|claim| claim["name"] == "few").unwrap();
    assert_eq!((&claim["verdict"], &claim["observed"]["value"]), (&json!("PASS"), &json!(0.0)), "{claim:#}");
    assert_eq!(target.requests(), 800);
}

#[test]
fn what_teardown_counted_before_it_threw_is_kept() {
    let script = "
        import { Gauge } from 'k6/metrics';
        const level = new Gauge('level');
        export const options = { iterations: 3 };
        export default function () { level.add(5); }
        export function teardown() { level.add(2); throw new Error('enough'); }";
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    let fixed =
        ["run", "script.js", "--quiet", "--evidence", "run.plimsoll", "--summary-export", "summary.json"];
    folder.plimsoll(&fixed).exits_with(107);
    let level = &folder.json("summary.json")["metrics"]["level"];
    assert_eq!((&level["value"], &level["min"], &level["max"]), (&json!(2), &json!(2), &json!(5)));
}
