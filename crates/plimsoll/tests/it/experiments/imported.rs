//! Runs of another tool in pairs: which lengths are compared, and by what they are judged if nothing is asked.

use std::fmt::Write as _;

use serde_json::json;

use crate::command::{CommandOutput, TestFolder};

const PAIRS: u64 = 5;
/// Between the starts of two runs.
const APART_S: u64 = 600;

/// What vegeta writes of a run at `start_s` of 2026-11-29: ten hits a second, the last of which ends after `length_ms`.
fn hits(start_s: u64, length_ms: u64, latency_ms: u64) -> String {
    let hits = length_ms / 100;
    let mut text = String::new();
    for seq in 0..hits {
        // Some are slower than others, differently in each run.
        let latency_ms = latency_ms + (seq * 7 + start_s / APART_S) % 5;
        let at_ms = start_s * 1_000 + if seq + 1 == hits { length_ms - latency_ms } else { seq * 100 };
        let (minute, second, ms) = (at_ms / 60_000, at_ms / 1_000 % 60, at_ms % 1_000);
        let timestamp = format!("2026-11-29T{:02}:{:02}:{second:02}.{ms:03}Z", minute / 60, minute % 60);
        let hit = json!({
            "attack": "shop", "seq": seq, "code": 200, "timestamp": timestamp, "latency": latency_ms * 1_000_000,
            "bytes_out": 0, "bytes_in": 2, "error": "", "method": "GET", "url": "http://shop.test/list",
        });
        let _ = writeln!(text, "{hit}");
    }
    text
}

/// Pairs of imported runs, of which B is so long and so slow, judged.
fn judged(length_of_b_ms: u64, latency_of_b_ms: u64) -> CommandOutput {
    let folder = TestFolder::new("");
    let mut files = [Vec::new(), Vec::new()];
    for pair in 0..PAIRS {
        // Either comes first at times.
        let first = (pair % 2) as usize;
        for (place, arm) in [first, 1 - first].into_iter().enumerate() {
            let (length_ms, latency_ms) = [(60_000, 10), (length_of_b_ms, latency_of_b_ms)][arm];
            let name = format!("{}{pair}", ["a", "b"][arm]);
            let start_s = (2 * pair + place as u64) * APART_S;
            folder.write(&format!("{name}.json"), hits(start_s, length_ms, latency_ms));
            let imported = format!("{name}.plimsoll");
            folder.plimsoll(&["import", &format!("{name}.json"), "-o", &imported]).exits_with(0);
            files[arm].push(imported);
        }
    }
    let [from, against] = files.each_ref().map(|files| files.iter().map(String::as_str).collect::<Vec<_>>());
    folder.plimsoll(&[vec!["ab", "--from"], from, vec!["--against"], against].concat())
}

#[test]
fn imported_runs_whose_lengths_are_within_five_per_cent_are_judged_by_their_endpoints() {
    let alike = judged(62_940, 10);
    assert!(matches!(alike.code, Some(0 | 4)), "{alike:?}");
    alike.stdout_contains(&["GET http://shop.test/list p50", "GET http://shop.test/list p95", "errors"]);
    let slower = judged(62_940, 13);
    slower.exits_with(3).stdout_contains(&["REGRESSED"]);
}

#[test]
fn imported_runs_whose_lengths_differ_by_more_are_not_compared() {
    let refused = judged(63_100, 10);
    refused.exits_with(5).stdout_contains(&["C3 load-shape-mismatch", "60 s and 63.1 s long"]);
}
