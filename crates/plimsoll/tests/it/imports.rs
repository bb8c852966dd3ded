//! Imported run files: tables, cautions, exit codes, and truncated files.

mod copies;
mod failing;
mod intent;
mod nonsense;
mod tools;
mod totals;
mod truth;
mod unread;

use std::fs;
use std::path::PathBuf;

use crate::command::TestFolder;

pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures").join(name)
}

/// A folder with a copy of this file.
fn with(name: &str) -> TestFolder {
    let folder = TestFolder::new("");
    folder.write(name, fs::read(fixture(name)).unwrap());
    folder
}

/// Every line of `expected` in the text, whatever the width it was wrapped to.
#[track_caller]
fn says(text: &str, expected: &[&str]) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in expected {
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }
}

#[test]
fn a_stream_is_measured_with_its_cautions_and_judged_where_asked() {
    let folder = with("k6.ndjson");
    let ran = folder.plimsoll(&[
        "import",
        "k6.ndjson",
        "-v",
        "-o",
        "k6.plimsoll",
        "--html",
        "k6.html",
        "--md",
        "k6.md",
    ]);
    ran.exits_with(0);
    says(
        &ran.stdout,
        &[
            "MEASURED",
            "POST http://127.0.0.1",
            "L1 offered-load-not-reached",
            "is unknown",
            "Imported from k6 NDJSON",
        ],
    );
    let again = folder.plimsoll(&["report", "-v", "k6.plimsoll"]);
    again.exits_with(0);
    assert_eq!(again.stdout, ran.stdout);
    for file in ["k6.html", "k6.md"] {
        says(&fs::read_to_string(folder.path(file)).unwrap(), &["Imported from k6 NDJSON", "missing"]);
    }
    folder
        .plimsoll(&["import", "k6.ndjson", "-o", "k6.plimsoll"])
        .exits_with(2)
        .stderr_contains(&["k6.plimsoll"]);
    let asked = [
        "import",
        "k6.ndjson",
        "-o",
        "k6.plimsoll",
        "--force",
        "--ask",
        "error_rate(scenario = browse) <= 0%",
    ];
    folder.plimsoll(&asked).exits_with(3);
}

#[test]
fn a_summary_has_figures_that_decide_what_they_can() {
    for file in ["k6-summary.json", "ghz.txt", "vegeta-report.json"] {
        let folder = with(file);
        let ran = folder.plimsoll(&["import", file, "-o", "run.plimsoll"]);
        ran.exits_with(0);
        says(&ran.stdout, &["MEASURED", "Imported from", "p95"]);
        let asked = folder.plimsoll(&["import", file, "-o", "asked.plimsoll", "--ask", "p95(all) < 1s"]);
        asked.exits_with(4);
        says(&asked.stdout, &["INCONCLUSIVE", "By the figures of", "requests failed or took 1 s or longer"]);
    }
    // 14 of 100 failed within two seconds: one outage may be the reason.
    let folder = with("vegeta-report.json");
    let asked = ["import", "vegeta-report.json", "-o", "a.plimsoll", "--ask", "error_rate(all) < 1%"];
    let ran = folder.plimsoll(&asked);
    ran.exits_with(4);
    says(&ran.stdout, &["INCONCLUSIVE", "14 of 100 requests failed (14 %)", "With 50 counted as one"]);
}

#[test]
fn truncated_files_and_bad_lines_are_reported() {
    let folder = with("k6.csv");
    let text = fs::read_to_string(folder.path("k6.csv")).unwrap();
    folder.write("cut.csv", &text[..text.len() - 20]);
    let ran = folder.plimsoll(&["import", "cut.csv", "-v", "-o", "cut.plimsoll"]);
    ran.exits_with(4);
    says(&ran.stdout, &["cut.csv ends in the middle of line 374", "POST http://127.0.0.1"]);
    let bad = text.replacen("\nhttp_reqs,", "\nhttp_reqs;", 1);
    folder.write("bad.csv", bad);
    let ran = folder.plimsoll(&["import", "bad.csv", "-v", "-o", "bad.plimsoll"]);
    ran.exits_with(0);
    says(
        &ran.stdout,
        &["One record of the k6 CSV could not be read", "line 2 of bad.csv: 18 columns, the header has 19"],
    );
}

#[test]
fn unusable_files_are_refused_with_the_reason_and_no_run_file_is_left() {
    let folder = with("k6.csv");
    folder.write("ghz.txt", fs::read(fixture("ghz.txt")).unwrap());
    folder.write("notes.txt", "just some text\n");
    folder.write("results.bin", b"\x3f\xff\x81\0Result Attack Latency");
    folder.write("empty.json", "");
    for (files, why) in [
        (vec!["notes.txt"], "in none of the supported formats"),
        (vec!["results.bin"], "vegeta binary results"),
        (vec!["empty.json"], "is not a file of results: it is empty"),
        (vec!["missing.json"], "there is no file of results missing.json"),
        (vec!["k6.csv", "ghz.txt"], "by different tools (ghz, k6)"),
        (vec!["k6.csv", "--format", "hdr-log"], "holds nothing that could be read as HdrHistogram log"),
        (vec!["k6.csv", "--ask", "p95 of list"], "--objective"),
    ] {
        let arguments: Vec<&str> =
            ["import"].into_iter().chain(files).chain(["-o", "run.plimsoll"]).collect();
        folder.plimsoll(&arguments).exits_with(2).stderr_contains(&[why]);
        assert!(folder.files("run.plimsoll").is_empty(), "{arguments:?} left a file");
    }
}
