//! What other tools wrote, as run files: tables, doubts, exit codes, and files that are not whole.

use std::fs;
use std::path::PathBuf;

use crate::command::Place;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures").join(name)
}

/// A place with a copy of this file.
fn with(name: &str) -> Place {
    let place = Place::new("");
    place.write(name, fs::read(fixture(name)).unwrap());
    place
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
fn a_stream_is_measured_with_its_doubts_and_judged_where_asked() {
    let place = with("k6.ndjson");
    let ran =
        place.plimsoll(&["import", "k6.ndjson", "-o", "k6.plimsoll", "--html", "k6.html", "--md", "k6.md"]);
    ran.ended(0);
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
    let again = place.plimsoll(&["report", "k6.plimsoll"]);
    again.ended(0);
    assert_eq!(again.stdout, ran.stdout);
    for file in ["k6.html", "k6.md"] {
        says(&fs::read_to_string(place.path(file)).unwrap(), &["Imported from k6 NDJSON", "missing"]);
    }
    place.plimsoll(&["import", "k6.ndjson", "-o", "k6.plimsoll"]).ended(2).complains(&["k6.plimsoll"]);
    let asked = [
        "import",
        "k6.ndjson",
        "-o",
        "k6.plimsoll",
        "--force",
        "--ask",
        "error_rate(scenario = browse) < 1%",
    ];
    place.plimsoll(&asked).ended(3);
}

#[test]
fn a_summary_has_figures_and_no_verdict() {
    for file in ["k6-summary.json", "ghz.txt", "vegeta-report.json"] {
        let place = with(file);
        let ran = place.plimsoll(&["import", file, "-o", "run.plimsoll"]);
        ran.ended(0);
        says(&ran.stdout, &["MEASURED", "Imported from", "p95"]);
        let asked = place.plimsoll(&["import", file, "-o", "asked.plimsoll", "--ask", "p95(all) < 1s"]);
        asked.ended(4);
        says(&asked.stdout, &["INCONCLUSIVE", "The source kept no single times"]);
    }
}

#[test]
fn a_file_that_ends_in_the_middle_or_has_bad_lines_says_so() {
    let place = with("k6.csv");
    let text = fs::read_to_string(place.path("k6.csv")).unwrap();
    place.write("cut.csv", &text[..text.len() - 20]);
    let ran = place.plimsoll(&["import", "cut.csv", "-o", "cut.plimsoll"]);
    ran.ended(4);
    says(&ran.stdout, &["cut.csv ends in the middle of line 374", "POST http://127.0.0.1"]);
    let bad = text.replacen("\nhttp_reqs,", "\nhttp_reqs;", 1);
    place.write("bad.csv", bad);
    let ran = place.plimsoll(&["import", "bad.csv", "-o", "bad.plimsoll"]);
    ran.ended(0);
    says(
        &ran.stdout,
        &["One record of the k6 CSV could not be read", "line 2 of bad.csv: 18 columns, the header has 19"],
    );
}

#[test]
fn what_cannot_be_imported_is_refused_in_words_and_leaves_no_file() {
    let place = with("k6.csv");
    place.write("ghz.txt", fs::read(fixture("ghz.txt")).unwrap());
    place.write("notes.txt", "just some text\n");
    place.write("results.bin", b"\x3f\xff\x81\0Result Attack Latency");
    place.write("empty.json", "");
    for (files, why) in [
        (vec!["notes.txt"], "in none of the supported formats"),
        (vec!["results.bin"], "vegeta encode"),
        (vec!["empty.json"], "in none of the supported formats"),
        (vec!["missing.json"], "cannot read missing.json"),
        (vec!["k6.csv", "ghz.txt"], "by different tools (ghz, k6)"),
        (vec!["k6.csv", "--format", "hdr-log"], "holds nothing that could be read as HdrHistogram log"),
        (vec!["k6.csv", "--ask", "p95 of list"], "--ask"),
    ] {
        let arguments: Vec<&str> =
            ["import"].into_iter().chain(files).chain(["-o", "run.plimsoll"]).collect();
        place.plimsoll(&arguments).ended(2).complains(&[why]);
        assert!(place.files("run.plimsoll").is_empty(), "{arguments:?} left a file");
    }
}
