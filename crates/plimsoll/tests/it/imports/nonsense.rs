//! Numbers that no run can have: refused, or named and left out.

use serde_json::Value;

use super::fixture;
use crate::command::TestFolder;

/// A summary in the arrangement of k6 1.5.
const NEWER: &str = "k6-summary-machine-readable.json";

/// The source of an import of a file with this content, and the requests that were counted.
fn imported(file: &str, content: &str) -> (Value, u64) {
    let folder = TestFolder::new("");
    folder.write(file, content);
    // Nothing is asked; a file that is not whole makes the run an aborted one.
    let ran = folder.plimsoll(&["import", file, "-o", "run.plimsoll", "--json", "run.json"]);
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:?}");
    let report = folder.json("run.json");
    // Not known where the source has figures alone.
    let completed = report["accounting"]["completed"].as_u64().unwrap_or(0);
    (report["run"]["source"].clone(), completed)
}

/// A fixture with `old` replaced by `new`, once.
fn with(name: &str, old: &str, new: &str) -> String {
    let text = std::fs::read_to_string(fixture(name)).unwrap();
    assert!(text.contains(old), "{name} has no {old}");
    text.replacen(old, new, 1)
}

/// The figure is not among the figures, and named.
#[track_caller]
fn is_left_out(file: &str, content: &str, figure: &str, why: &str) {
    let (source, _) = imported(file, content);
    let figures = source["figures"].as_array().unwrap();
    let is_it =
        |f: &Value| format!("{} {}", f["of"].as_str().unwrap(), f["name"].as_str().unwrap()) == figure;
    assert!(!figures.iter().any(is_it), "{figure} is still there: {source}");
    assert!(!figures.is_empty(), "the others are kept");
    let expected = format!("{figure} is left out: {why}");
    let remarks = source["remarks"].as_array().unwrap();
    assert!(remarks.iter().any(|remark| *remark == expected), "`{expected}` is not in {remarks:?}");
    assert_eq!(source["malformed"], 1, "{source}");
}

/// The record is counted as malformed and not among the requests.
#[track_caller]
fn is_malformed(file: &str, content: &str, why: &str) -> u64 {
    let (source, ended) = imported(file, content);
    assert_eq!(source["malformed"], 1, "{source}");
    let first = source["first_malformed"].as_str().unwrap();
    assert!(first.ends_with(why), "`{why}` is not in {first}");
    ended
}

#[test]
fn a_million_million_requests() {
    let why = "1000000000000 is not a count of a run";
    for (file, old, new, of) in [
        ("k6-summary.json", "\"count\":30,", "\"count\":1e12,", "http_reqs count"),
        ("k6-summary-export.json", "\"count\": 30,", "\"count\": 1000000000000,", "http_reqs count"),
        ("ghz.txt", "Count:\t60", "Count:\t1000000000000", "all calls count"),
        ("ghz.json", "\"count\":60,", "\"count\":1000000000000,", "all calls count"),
        ("vegeta-report.json", "\"requests\":100,", "\"requests\":1000000000000,", "all hits count"),
    ] {
        is_left_out(file, &with(file, old, new), of, why);
    }
    let line = with("k6.ndjson", "\"value\":1,", "\"value\":1e12,");
    assert_eq!(is_malformed("k6.ndjson", &line, "1000000000000 is not a count"), 30);
    let line = with("k6.csv", "1.000000", "1000000000000.000000");
    assert_eq!(is_malformed("k6.csv", &line, "1000000000000 is not a count"), 30);
}

#[test]
fn requests_that_add_up_to_more_than_any_run_has() {
    let folder = TestFolder::new("");
    let line = r#"{"metric":"http_reqs","type":"Point","data":{"time":"2026-11-21T21:19:31.587890628Z","value":900000000,"tags":{"name":"list"}}}"#;
    folder.write("many.ndjson", format!("{line}\n").repeat(112));
    let ran = folder.plimsoll(&["import", "many.ndjson", "-o", "run.plimsoll"]);
    ran.exits_with(2).stderr_contains(&["requests in many.ndjson", "100,800,000,000,", "no run has"]);
    let line = r#"{"metric":"http_req_blocked","type":"Point","data":{"time":"2026-11-21T21:19:31.587890628Z","value":2678400000,"tags":{"name":"list","status":"200"}}}"#;
    folder.write("long.ndjson", format!("{line}\n").repeat(7_000));
    let ran = folder.plimsoll(&["import", "long.ndjson", "-o", "run.plimsoll"]);
    ran.exits_with(2).stderr_contains(&["blocked_ns in long.ndjson", "no run has"]);
    assert!(folder.files("run.plimsoll").is_empty());
}

#[test]
fn negative_counts() {
    let exported = "\"checks\": {\n            \"passes\": ";
    for (file, old, new, of) in [
        ("k6-summary.json", "\"passes\":12", "\"passes\":-3", "checks passes"),
        ("k6-summary-export.json", &*format!("{exported}12"), &*format!("{exported}-3"), "checks passes"),
        (NEWER, "\"matches\": 12", "\"matches\": -3", "checks passes"),
        ("ghz.txt", "[OK]   60", "[OK]   -3", "all calls status OK"),
        ("ghz.json", "{\"OK\":60}", "{\"OK\":-3}", "all calls status OK"),
        ("vegeta-report.json", "{\"0\":4,", "{\"0\":-3,", "all hits status 0"),
    ] {
        is_left_out(file, &with(file, old, new), of, "-3 is not a count of a run");
    }
    let line = with("k6.ndjson", "\"value\":1,", "\"value\":-1,");
    assert_eq!(is_malformed("k6.ndjson", &line, "-1 is not a count"), 30);
    let line = with("vegeta-results.json", "\"bytes_in\":2,", "\"bytes_in\":-2,");
    assert_eq!(is_malformed("results.json", &line, "integer `-2`, expected u64 at line 1 column 126"), 99);
    let line = with("ghz.json", "\"latency\":2566090,", "\"latency\":-2566090,");
    assert_eq!(is_malformed("ghz.json", &line, "-2566090 ns is not a duration"), 59);
    let line = with("ten.hlog", "\n0.127,1.001,", "\n0.127,-1.001,");
    assert_eq!(is_malformed("ten.hlog", &line, "its length is not a duration"), 900);
}

#[test]
fn percentages_above_a_hundred() {
    for (file, old, new, of) in [
        ("k6-summary.json", "\"rate\":0.2,", "\"rate\":1.2,", "http_req_failed rate"),
        ("k6-summary-export.json", "\"value\": 0.2", "\"value\": 1.2", "http_req_failed value"),
        (NEWER, "\"rate\": 0.2,", "\"rate\": 1.2,", "http_req_failed rate"),
        ("vegeta-report.json", "\"success\":0.86", "\"success\":1.2", "all hits success"),
    ] {
        is_left_out(file, &with(file, old, new), of, "1.2 is not a share from 0 to 1");
    }
    let duration = "\"http_req_duration\":{\"contains\":\"time\",\"values\":{";
    for (file, old, new, of) in [
        ("k6-summary.json", duration, &*format!("{duration}\"p(195)\":4,"), "http_req_duration p195"),
        ("ghz.txt", "95 % in", "195 % in", "all calls p195"),
        ("ghz.json", "\"percentage\":95,", "\"percentage\":195,", "all calls p195"),
    ] {
        is_left_out(file, &with(file, old, new), of, "there is no such percentile");
    }
    let line =
        with("k6.csv", "\nchecks,", "\nchecks,1795295971,7,status is 200,,,,,,,,browse,,,,,,,\nchecks,");
    assert_eq!(is_malformed("k6.csv", &line, "7 is not the result of a check"), 30);
}

#[test]
fn what_is_not_a_number() {
    for (file, old, new, of) in [
        ("k6-summary.json", "\"count\":30,", "\"count\":\"NaN\",", "http_reqs count"),
        ("k6-summary-export.json", "\"count\": 30,", "\"count\": null,", "http_reqs count"),
        (NEWER, "\"count\": 30", "\"count\": \"NaN\"", "http_reqs count"),
        ("ghz.json", "\"average\":3729669", "\"average\":\"NaN\"", "all calls avg"),
        ("ghz.json", "\"count\":60,", "\"count\":null,", "all calls count"),
        ("vegeta-report.json", "\"mean\":1229003880", "\"mean\":\"NaN\"", "all hits avg"),
        ("ghz.txt", "Average:\t4.59 ms", "Average:\tNaN ms", "all calls avg"),
    ] {
        is_left_out(file, &with(file, old, new), of, "it is not a number");
    }
    for metric in ["http_reqs", "checks", "vus"] {
        let line = with(
            "k6.csv",
            "\nhttp_reqs,",
            &format!("\n{metric},1795295971,NaN,,,,,,,list,,browse,,,,,,,\nhttp_reqs,"),
        );
        let (source, ended) = imported("k6.csv", &line);
        let first = source["first_malformed"].as_str().unwrap();
        assert_eq!((source["malformed"].as_u64(), ended), (Some(1), 30), "{metric}");
        assert!(first.contains("NaN is not"), "{metric}: {first}");
    }
    let log = with("ten.hlog", "\n0.127,1.001,2.785,", "\n0.127,1.001,NaN,");
    assert_eq!(is_malformed("ten.hlog", &log, "its maximum is not a number"), 900);
}

#[test]
fn durations_longer_than_any_run() {
    let line = with("vegeta-results.json", "\"latency\":3959271,", "\"latency\":9000000000000000000,");
    assert_eq!(is_malformed("results.json", &line, "9000000000000000000 ns is not a duration"), 99);
    let line = with("ghz.json", "\"latency\":2566090,", "\"latency\":9000000000000000000,");
    assert_eq!(is_malformed("ghz.json", &line, "9000000000000000000 ns is not a duration"), 59);
    let bytes = with("vegeta-results.json", "\"bytes_in\":2,", "\"bytes_in\":9000000000000000000,");
    assert_eq!(is_malformed("results.json", &bytes, "9000000000000000000 is not a number of bytes"), 99);
    is_left_out(
        "vegeta-report.json",
        &with("vegeta-report.json", "\"mean\":1229003880", "\"mean\":9e18"),
        "all hits avg",
        "9000000000000 ms is not a duration",
    );
}
