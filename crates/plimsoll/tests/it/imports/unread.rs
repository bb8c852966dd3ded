//! Records that cannot be read, that are missing or that contradict each other: counted, shown, and in the range of every
//! claim.

use std::fmt::Write as _;

use serde_json::json;

use super::says;
use crate::command::{CommandOutput, TestFolder};

/// The import of a file with this content, with an objective.
fn asked(name: &str, content: &str, objective: &str) -> (TestFolder, CommandOutput) {
    let folder = TestFolder::new("");
    folder.write(name, content);
    let arguments = ["import", name, "-v", "-o", "run.plimsoll", "--json", "run.json", "--ask", objective];
    let ran = folder.plimsoll(&arguments);
    (folder, ran)
}

/// JMeter's default columns, and 4,000 samples of which every twentieth failed, with a message that has this in it.
fn jtl(break_in_message: &str) -> String {
    let mut text = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,\
                    sentBytes,grpThreads,allThreads,URL,Filename,Latency,Encoding,SampleCount,ErrorCount,Hostname,IdleTime,\
                    Connect\n"
        .to_owned();
    for i in 0..4_000u64 {
        let (at, rest) = (1_769_000_000_000 + i * 20, "100,50,1,1,http://x/,,10,utf-8,1");
        let _ = match i % 20 {
            0 => writeln!(
                text,
                "{at},213,Test,502,Failed,Users 1-1,text,false,Premature end of file.{break_in_message}See log file.,{rest},1,h,0,1"
            ),
            _ => writeln!(text, "{at},20,Test,200,OK,Users 1-1,text,true,,{rest},0,h,0,1"),
        };
    }
    text
}

#[test]
fn failures_with_a_line_end_in_their_message_are_failures() {
    for break_in_message in ["\n", "\r\n", "\n\n", ", ", " \n at, all\n"] {
        let (folder, ran) = asked("a.jtl", &jtl(break_in_message), "error_rate(all) < 1%");
        let source = &folder.json("run.json")["run"]["source"];
        ran.exits_with(3);
        says(&ran.stdout, &["(5 %) failed", "200 records of a.jtl whose texts have line ends or delimiters"]);
        assert_eq!(source["malformed"], 0, "{source}");
    }
}

#[test]
fn records_that_cannot_be_read_are_shown_and_may_be_on_either_side() {
    let text = jtl(" ").replace(",502,Failed,Users 1-1,text,false", ",502,Failed");
    let (folder, ran) = asked("a.jtl", &text, "error_rate(all) < 1%");
    ran.exits_with(4);
    says(
        &ran.stdout,
        &[
            "INCONCLUSIVE",
            "failed; the true share is 0 % to ",
            "200 missing in the import, not readable or contradicted count as unknown",
            "200 records of the JMeter CSV could not be read; the first is line 2 of a.jtl: 19 columns, the header has 22: \
             1769000000000,213,Test,502,Failed,Premature end of file.",
            "not read line 22 of a.jtl",
            "not read line 42 of a.jtl",
        ],
    );
    let report = folder.json("run.json");
    let share = &report["claims"][0]["share"];
    assert_eq!(
        [&share["arrivals"], &share["least"], &share["most"]],
        [&json!(4_000), &json!(0), &json!(200)]
    );
    assert_eq!(share["widened_by"], json!([{"cause": "unread", "arrivals": 200}]));
    let source = &report["run"]["source"];
    assert_eq!((&source["malformed"], &source["unread"].as_array().unwrap().len()), (&json!(200), &3));
    // What they cannot change is decided.
    asked("a.jtl", &text, "error_rate(all) < 20%").1.exits_with(0);
    asked("a.jtl", &text, "p90(all) < 5ms").1.exits_with(3);
}

#[test]
fn totals_of_ghz_that_its_details_do_not_have_are_named() {
    let detail = |i: u32| json!({"timestamp": format!("2026-11-21T21:{:02}:{:02}Z", i / 60 % 60, i % 60), "latency": 5_000_000, "status": "OK"});
    let document = json!({
        "endReason": "normal", "count": 36_000, "fastest": 5_000_000, "slowest": 60_000_000,
        "latencyDistribution": [{"percentage": 99, "latency": 50_000_000}],
        "statusCodeDistribution": {"OK": 36_000},
        "details": (0..10_000).map(|i| detail(i % 600)).collect::<Vec<_>>(),
    });
    let (_, ran) = asked("ghz.json", &document.to_string(), "p99(all) < 20ms");
    ran.exits_with(4);
    says(
        &ran.stdout,
        &[
            "INCONCLUSIVE",
            "The source's own total has 36,000 requests, 0 of them failed; the file has records of 10,000 requests",
            "The source has a p99 of 50 ms; of 10,000 records 99 too few are at or above it.",
            "26,000 missing in the import, not readable or contradicted count as unknown",
        ],
    );
}

#[test]
fn a_stream_of_k6_without_its_failures_is_not_decided_where_it_shows() {
    let mut lines = String::new();
    for i in 0..4_000u64 {
        let (ok, status) = if i % 20 == 0 { ("false", "500") } else { ("true", "200") };
        for (metric, value) in
            [("http_reqs", 1), ("http_req_duration", 5), ("http_req_failed", u8::from(i % 20 == 0))]
        {
            let time = format!("2026-11-01T00:{:02}:{:02}.{:02}Z", i / 3_000, i / 50 % 60, i % 50 * 2);
            let tags =
                json!({"expected_response": ok, "name": "/x", "scenario": "default", "status": status});
            let data = json!({"time": time, "value": value, "tags": tags});
            let _ = writeln!(lines, "{}", json!({"metric": metric, "type": "Point", "data": data}));
        }
    }
    let is_failure = |line: &&str| line.contains("\"500\"");
    let without = |metric: &str| -> String {
        let kept = lines.lines().filter(|line| !is_failure(line) || !line.contains(metric));
        kept.map(|line| format!("{line}\n")).collect()
    };
    asked("a.ndjson", &lines, "error_rate(all) < 1%").1.exits_with(3);
    let (_, ran) = asked("a.ndjson", &without("http_req_duration"), "error_rate(all) < 1%");
    ran.exits_with(4);
    says(&ran.stdout, &["4,000 requests and 3,800 times of requests", "200 missing in the import"]);
    let (_, ran) = asked("a.ndjson", &without("_req"), "error_rate(all) < 1%");
    // Nothing of them is left, which the format cannot show: docs/import.md says so.
    ran.exits_with(0);
    let kept = without("http_req_d");
    let outcomes = kept.lines().filter(|line| !is_failure(line) || !line.contains("http_reqs"));
    let outcomes: String = outcomes.map(|line| format!("{line}\n")).collect();
    let (_, ran) = asked("a.ndjson", &outcomes, "error_rate(all) < 1%");
    ran.exits_with(4);
    says(&ran.stdout, &["4,000 of `http_req_failed` (200 true)"]);
}

#[test]
fn the_summary_of_hey_is_refused_by_name() {
    let folder = TestFolder::new("");
    folder.write("hey.txt", "\nSummary:\n  Total:\t1.0 secs\n  Slowest:\t0.1 secs\n  Requests/sec:\t9.0\n\nResponse time histogram:\n");
    let ran = folder.plimsoll(&["import", "hey.txt", "-o", "run.plimsoll"]);
    ran.exits_with(2)
        .stderr_contains(&["hey.txt: is the summary of hey, which is not read; supported are k6's NDJSON"]);
    assert!(folder.files("run.plimsoll").is_empty());
}
