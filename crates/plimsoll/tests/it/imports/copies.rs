//! Requests that are in two files: refused, unless the files are of different machines.

use std::fs;

use super::{fixture, with};
use crate::command::TestFolder;

/// Import these files and return the report, or the refusal.
fn requests(folder: &TestFolder, files: &[&str]) -> Result<u64, String> {
    let arguments: Vec<&str> =
        [&["import"], files, &["-o", "run.plimsoll", "--json", "run.json", "--force"]].concat();
    let ran = folder.plimsoll(&arguments);
    if ran.code == Some(2) {
        assert!(folder.files("run.plimsoll").is_empty(), "a file is left: {files:?}");
        return Err(ran.stderr);
    }
    ran.exits_with(0);
    let completed = folder.json("run.json")["accounting"]["completed"].clone();
    fs::remove_file(folder.path("run.plimsoll")).unwrap();
    Ok(completed.as_u64().unwrap())
}

#[track_caller]
fn refused(folder: &TestFolder, files: &[&str], words: &[&str]) {
    let refusal = requests(folder, files).expect_err("it was added up");
    for words in words {
        assert!(refusal.contains(words), "`{words}` is not in: {refusal}");
    }
}

fn text(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}

#[test]
fn a_file_is_not_counted_twice_by_any_of_its_names() {
    for file in ["k6.ndjson", "k6.csv", "ghz.json", "vegeta-results.json", "ten.hlog", "k6-summary.json"] {
        let folder = with(file);
        refused(&folder, &[file, file], &[file, "the same file", "once"]);
        refused(&folder, &[file, &format!("./{file}")], &["the same file", "once"]);
        std::os::unix::fs::symlink(folder.path(file), folder.path("symbolic")).unwrap();
        refused(&folder, &[file, "symbolic"], &[file, "symbolic", "the same file", "once"]);
        fs::hard_link(folder.path(file), folder.path("hard")).unwrap();
        refused(&folder, &["hard", file], &[file, "hard", "the same file", "once"]);
        fs::copy(folder.path(file), folder.path("copy")).unwrap();
        refused(&folder, &[file, "copy"], &[file, "copy", "the same content", "once"]);
    }
}

#[test]
fn two_detailed_formats_of_a_run_are_refused() {
    let folder = with("k6.ndjson");
    folder.write("k6.csv", text("k6.csv"));
    refused(
        &folder,
        &["k6.ndjson", "k6.csv"],
        &["k6.ndjson", "k6.csv", "each request", "import one of them"],
    );
    folder.write("ghz.json", text("ghz.json"));
    folder.write("ghz.txt", text("ghz.txt"));
    refused(&folder, &["ghz.txt", "ghz.json"], &["ghz.json", "ghz.txt", "figures", "import one of them"]);
    folder.write("a.json", text("k6-summary.json"));
    folder.write("b.json", text("k6-summary-export.json"));
    refused(&folder, &["a.json", "b.json"], &["a.json", "b.json", "figures", "import one of them"]);
}

#[test]
fn a_detailed_file_and_a_summary_of_a_run_are_one_run() {
    let folder = with("vegeta-results.json");
    folder.write("report.json", text("vegeta-report.json"));
    assert_eq!(requests(&folder, &["vegeta-results.json", "report.json"]), Ok(100));
    folder.write("k6.ndjson", text("k6.ndjson"));
    folder.write("summary.json", text("k6-summary.json"));
    assert_eq!(requests(&folder, &["k6.ndjson", "summary.json"]), Ok(30));
}

#[test]
fn requests_that_are_in_two_files_are_refused() {
    for (file, record) in
        [("k6.ndjson", "k6.ndjson"), ("k6.csv", "k6.csv"), ("vegeta-results.json", "vegeta-results.json")]
    {
        let folder = with(file);
        let lines: Vec<String> = text(record).lines().map(|line| format!("{line}\n")).collect();
        // A part of it, which begins with the head of the format, and the rest of a log that was rotated too late.
        folder.write("part", lines[..lines.len() * 3 / 4].concat());
        let words = ["100 % of the records of part", "import one of them"];
        refused(&folder, &[file, "part"], &words);
        let later = lines.len() / 2;
        folder.write("later", format!("{}{}", lines[0], lines[later..].concat()));
        refused(&folder, &["part", "later"], &["records of", "are also in", "import one of them"]);
    }
    let folder = with("ten.hlog");
    let log = text("ten.hlog");
    let head = log.lines().count() - 2;
    folder.write("part.hlog", log.lines().take(head).map(|line| format!("{line}\n")).collect::<String>());
    refused(
        &folder,
        &["part.hlog", "ten.hlog"],
        &["100 % of the records of part.hlog", "import one of them"],
    );
}

/// A line of k6's NDJSON with the nanoseconds of its time in reverse: `31.587890628Z` is `31.826098785Z`.
fn with_other_nanoseconds(line: &str) -> String {
    let Some((before, after)) = line.split_once("Z\",\"value\"") else { return format!("{line}\n") };
    let (seconds, nanoseconds) = before.rsplit_once('.').unwrap();
    let reversed: String = nanoseconds.chars().rev().collect();
    format!("{seconds}.{reversed}Z\",\"value\"{after}\n")
}

#[test]
fn files_of_different_machines_are_one_run() {
    // The other machine began 412.318 ms later.
    let folder = with("ten.hlog");
    let log = text("ten.hlog").replace("1441812279.474", "1441812279.886");
    folder.write("other.hlog", log);
    assert_eq!(requests(&folder, &["ten.hlog", "other.hlog"]), Ok(2_000));
    // The same seconds and URLs, other times.
    let folder = with("k6.ndjson");
    folder.write("other.ndjson", text("k6.ndjson").lines().map(with_other_nanoseconds).collect::<String>());
    assert_eq!(requests(&folder, &["k6.ndjson", "other.ndjson"]), Ok(60));
    let folder = with("k6.csv");
    let slower = |line: &str| {
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        if fields[0].ends_with("_duration") {
            fields[2] = format!("{:.6}", fields[2].parse::<f64>().unwrap() + 0.017_301);
        }
        fields.join(",") + "\n"
    };
    folder.write("other.csv", text("k6.csv").lines().map(slower).collect::<String>());
    assert_eq!(requests(&folder, &["k6.csv", "other.csv"]), Ok(60));
    // ghz states figures, too: they are those of one machine.
    let folder = with("ghz.json");
    folder.write("other.json", text("ghz.json").replace("T21:19:", "T21:20:"));
    assert_eq!(requests(&folder, &["ghz.json", "other.json"]), Ok(120));
    let figures = folder.json("run.json")["run"]["source"]["figures"].to_string();
    for of in ["all calls of ghz.json", "all calls of other.json"] {
        assert!(figures.contains(of), "{of} is not in {figures}");
    }
}

#[test]
fn a_summary_without_a_date_has_none() {
    let folder = TestFolder::new("");
    folder.write("shop.json", text("k6-summary.json"));
    let ran = folder.plimsoll(&["import", "shop.json", "--json", "report.json", "--html", "report.html"]);
    ran.exits_with(0).stdout_contains(&["start not known"]);
    assert!(!ran.stdout.contains("1970") && !folder.read("report.html").contains("1970"), "{}", ran.stdout);
    assert_eq!(folder.json("report.json")["run"]["started_at"], "start not known");
    assert_eq!(folder.files(".plimsoll"), ["shop.plimsoll"]);
}
