//! Files whose totals, times of day and rates are known give exactly these in the JSON report.

use serde_json::Value;

use super::{fixture, with};
use crate::command::TestFolder;

/// The report on an import of these files.
fn report(folder: &TestFolder, files: &[&str]) -> Value {
    let arguments: Vec<&str> = [&["import"], files, &["-o", "run.plimsoll", "--json", "run.json"]].concat();
    folder.plimsoll(&arguments).exits_with(0);
    folder.json("run.json")
}

/// What is expected of a file with the times of single requests.
struct Expected {
    file: &'static str,
    started_at: &'static str,
    seconds: u64,
    /// From the start of the first request to the end of the last.
    length_s: f64,
    outcomes: &'static [(&'static str, u64)],
    /// By endpoint: requests, with any outcome.
    endpoints: &'static [(&'static str, u64)],
}

const K6_OUTCOMES: &[(&str, u64)] = &[("http_5xx", 2), ("ok", 24), ("refused", 4)];
const K6_ENDPOINTS: &[(&str, u64)] =
    &[("POST http://127.0.0.1:43781/buy", 13), ("list", 13), ("GET http://127.0.0.1:1/gone", 4)];

const DETAILED: [Expected; 5] = [
    Expected {
        file: "k6.ndjson",
        started_at: "2026-11-21T21:19:31.587Z",
        seconds: 3,
        // As k6 states: its `testRunDurationMs` is 2263.3.
        length_s: 2.263_136_951,
        outcomes: K6_OUTCOMES,
        endpoints: K6_ENDPOINTS,
    },
    // Its times are whole seconds: the run may have begun and ended anywhere in the first and last of them.
    Expected {
        file: "k6.csv",
        started_at: "2026-11-21T21:19:31.000Z",
        seconds: 3,
        length_s: 3.0,
        outcomes: K6_OUTCOMES,
        endpoints: K6_ENDPOINTS,
    },
    Expected {
        file: "ghz.json",
        started_at: "2026-11-21T21:19:34.158Z",
        seconds: 1,
        length_s: 0.990_468_472,
        outcomes: &[("ok", 60)],
        endpoints: &[("demo.Echo.Say", 60)],
    },
    Expected {
        file: "vegeta-results.json",
        started_at: "2026-11-23T04:52:23.217Z",
        seconds: 32,
        length_s: 31.500_385_842,
        outcomes: &[("http_503", 10), ("ok", 86), ("timeout", 4)],
        endpoints: &[("GET http://127.0.0.1:8000/list", 100)],
    },
    Expected {
        file: "ten.hlog",
        started_at: "2015-09-09T15:24:39.601Z",
        seconds: 10,
        length_s: 10.0,
        outcomes: &[],
        endpoints: &[("all", 1_000)],
    },
];

#[test]
fn single_times_give_the_totals_the_seconds_and_the_rates_of_their_run() {
    for expected in DETAILED {
        let Expected { file, length_s, .. } = expected;
        let report = report(&with(file), &[file]);
        let (run, phase) = (&report["run"], &report["phases"][0]);
        assert_eq!(run["seconds"], expected.seconds, "{file}: {phase}");
        assert_eq!(run["started_at"], expected.started_at, "{file}");
        assert_eq!(phase["end_s"], phase["covered_s"], "{file}");
        let covered_s = phase["covered_s"].as_f64().unwrap();
        assert!((covered_s - length_s).abs() < 1e-9, "{file}: {covered_s} s");
        let outcomes: Vec<(&str, u64)> = counts(&report["accounting"]["by_outcome"]);
        assert_eq!(outcomes, expected.outcomes, "{file}");
        let rows = report["endpoints"].as_array().unwrap();
        assert_eq!(rows.len(), expected.endpoints.len(), "{file}");
        for (endpoint, requests) in expected.endpoints {
            let row = rows.iter().find(|row| row["endpoint"] == *endpoint).unwrap();
            assert_eq!(row["completed"], *requests, "{file}: {endpoint}");
            let rate = row["throughput_per_s"].as_f64().unwrap();
            let exact = *requests as f64 / covered_s;
            assert!((rate - exact).abs() < 1e-9, "{file}: {endpoint}: {rate}/s, not {exact}/s");
        }
    }
}

/// Requests by outcome; none where the source does not record outcomes.
fn counts(object: &Value) -> Vec<(&str, u64)> {
    object.as_object().into_iter().flatten().map(|(name, n)| (name.as_str(), n.as_u64().unwrap())).collect()
}

#[test]
fn summaries_give_their_figures_with_their_units() {
    for (file, expected) in [
        (
            "k6-summary.json",
            &[
                ("http_reqs count", 30.0, "1"),
                ("http_reqs rate", 13.254_956_363_976_719, "1/s"),
                ("data_received count", 2_014.0, "bytes"),
                ("data_received rate", 889.849_403_901_637_1, "bytes/s"),
                ("data_sent rate", 1_028.142_781_965_794, "bytes/s"),
                ("http_req_failed rate", 0.2, "1"),
                ("http_req_duration avg", 8.595_595_433_333_333, "ms"),
            ][..],
        ),
        (
            "k6-summary-export.json",
            &[
                ("http_reqs count", 30.0, "1"),
                ("http_reqs rate", 13.254_956_363_976_719, "1/s"),
                ("data_received count", 2_014.0, "bytes"),
                ("data_received rate", 889.849_403_901_637_1, "bytes/s"),
                ("http_req_duration avg", 8.595_595_433_333_333, "ms"),
            ],
        ),
        (
            "ghz.txt",
            &[
                ("all calls count", 60.0, "1"),
                ("all calls rate", 59.79, "1/s"),
                ("all calls total time", 1_000.0, "ms"),
                ("all calls p95", 14.01, "ms"),
                ("all calls status OK", 60.0, "1"),
            ],
        ),
        (
            "vegeta-report.json",
            &[
                ("all hits count", 100.0, "1"),
                ("all hits rate", 50.499_299_297_982_574, "1/s"),
                ("all hits success", 0.86, "1"),
                ("all hits bytes in", 192.0, "bytes"),
                ("all hits p95", 47.720_631, "ms"),
            ],
        ),
    ] {
        let report = report(&with(file), &[file]);
        let source = &report["run"]["source"];
        assert_eq!((&source["malformed"], &source["first_malformed"]), (&0.into(), &Value::Null), "{file}");
        for (figure, value, unit) in expected {
            let found = found(source, figure);
            assert_eq!(found["unit"], *unit, "{file}: {figure}");
            let error = found["value"].as_f64().unwrap() / value - 1.0;
            assert!(error.abs() < 1e-12, "{file}: {figure}: {found}");
        }
    }
}

fn found<'a>(source: &'a Value, figure: &str) -> &'a Value {
    let named =
        |f: &&Value| format!("{} {}", f["of"].as_str().unwrap(), f["name"].as_str().unwrap()) == figure;
    source["figures"].as_array().unwrap().iter().find(named).unwrap_or_else(|| panic!("no {figure}"))
}

#[test]
fn the_count_of_a_trend_is_a_number_and_not_a_time() {
    let folder = TestFolder::new("");
    let trend = r#"{"avg":8.6,"med":2.5,"p(95)":39.2,"max":58.7,"count":30}"#;
    for (file, text) in [
        ("exported.json", format!(r#"{{"root_group":{{}},"metrics":{{"http_req_duration":{trend}}}}}"#)),
        (
            "handled.json",
            format!(
                r#"{{"root_group":{{}},"metrics":{{"http_req_duration":{{"type":"trend","contains":"time","values":{trend}}}}}}}"#
            ),
        ),
    ] {
        folder.write(file, text);
        let source = &report(&folder, &[file, "--force"])["run"]["source"];
        assert_eq!(found(source, "http_req_duration count")["unit"], "1", "{file}");
        assert_eq!(found(source, "http_req_duration p95")["unit"], "ms", "{file}");
    }
}

#[test]
fn long_intervals_give_the_rate_of_the_run() {
    let folder = TestFolder::new("");
    let log = std::fs::read_to_string(fixture("ten.hlog")).unwrap();
    // The same histograms, of 10 s each.
    let line = |line: &str| match line.split_once(',') {
        Some((start, rest)) if start.starts_with(|c: char| c.is_ascii_digit()) => {
            let start: f64 = start.parse().unwrap();
            let (_, rest) = rest.split_once(',').unwrap();
            format!("{:.3},10.000,{rest}\n", (start - 0.127).round() * 10.0 + 0.127)
        }
        _ => format!("{line}\n"),
    };
    folder.write("long.hlog", log.lines().map(line).collect::<String>());
    let report = report(&folder, &["long.hlog"]);
    assert_eq!(report["run"]["seconds"], 100);
    assert_eq!(report["endpoints"][0]["throughput_per_s"], 10.0);
    let remarks = report["run"]["source"]["remarks"].to_string();
    assert!(remarks.contains("intervals of 10 s are counted in the second of their middle"), "{remarks}");
}
