//! Verdicts, exit codes and reports of runs that went well.

use std::fs;

use rusqlite::Connection;
use testbed::Behaviour;

use crate::command::{CommandOutput, TestFolder, closed, open, refusal};

/// Run a second's worth of a sound target with these objectives.
fn run_with(objectives: &str) -> (TestFolder, CommandOutput) {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 1) + "[objectives]\n" + objectives));
    let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]);
    (folder, ran)
}

#[test]
fn met_objectives_pass() {
    let (folder, ran) = run_with("few_errors = \"error_rate(all) <= 0%\"\n");
    ran.exits_with(0).stdout_contains(&["PASS", "few_errors", "run.plimsoll"]);
    assert!(ran.stderr.is_empty(), "{}", ran.stderr);
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(0).stdout_contains(&["PASS", "few_errors"]);
}

#[test]
fn a_run_without_objectives_is_measured() {
    let (_, ran) = run_with("");
    ran.exits_with(0).stdout_contains(&["MEASURED", "No objective was set"]);
}

#[test]
fn too_few_samples_are_inconclusive() {
    let (_, ran) = run_with("tail = \"p99(get) < 60s\"\n");
    ran.exits_with(4).stdout_contains(&["INCONCLUSIVE", "S4"]);
}

#[test]
fn an_undecided_verdict_need_not_fail_a_build() {
    let (folder, ran) = run_with("tail = \"p99(get) < 60s\"\n");
    ran.exits_with(4);
    let warned = folder.plimsoll(&["report", "run.plimsoll", "--inconclusive=warn", "--json", "-"]);
    warned.exits_with(0).stderr_contains(&["INCONCLUSIVE", "the exit code is 0"]);
    assert!(warned.stdout.contains("\"verdict\": \"INCONCLUSIVE\""), "{}", warned.stdout);
    let junit = |more: &[&str]| {
        folder.plimsoll(&[&["report", "run.plimsoll", "--junit", "r.xml"], more].concat());
        folder.read("r.xml")
    };
    let (skipped, error) = (junit(&["--inconclusive=warn"]), junit(&[]));
    assert!(skipped.contains("<skipped message=") && skipped.contains("skipped=\"1\""), "{skipped}");
    assert!(skipped.contains("errors=\"0\"") && !skipped.contains("<error"), "{skipped}");
    assert!(error.contains("<error message=") && error.contains("errors=\"1\""), "one case: {error}");
    let (_, violated) = run_with("busy = \"error_rate(all) > 50%\"\n");
    violated.exits_with(3);
}

#[test]
fn a_violated_objective_fails_beside_met_ones() {
    let (_, ran) = run_with("few_errors = \"error_rate(all) < 1%\"\nbusy = \"error_rate(all) > 50%\"\n");
    ran.exits_with(3).stdout_contains(&["FAIL", "busy"]);
}

#[test]
fn every_report_is_written_by_run_and_again_by_report() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder =
        TestFolder::new(&(closed(target.addr(), 1) + "[objectives]\nfew = \"error_rate(all) <= 0%\"\n"));
    let outputs = ["--html", "r.html", "--md", "r.md", "--json", "r.json", "--junit", "r.xml"];
    let files = ["r.html", "r.md", "r.json", "r.xml"];
    folder
        .plimsoll(&[&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"], &outputs[..]].concat())
        .exits_with(0);
    let check = || {
        assert!(
            folder.read("r.html").starts_with("<!doctype html>")
                || folder.read("r.html").starts_with("<!DOCTYPE html>")
        );
        assert!(folder.read("r.md").contains("PASS"));
        assert_eq!(folder.json("r.json")["schema"], "plimsoll.report/2");
        assert!(folder.read("r.xml").contains("<testsuite"));
        for file in files {
            let text = folder.read(file);
            assert!(text.contains("few"), "{file}");
            std::fs::remove_file(folder.path(file)).unwrap();
        }
    };
    check();
    folder
        .plimsoll(&[&["report", "run.plimsoll"], &outputs[..]].concat())
        .exits_with(0)
        .stdout_contains(&["PASS"]);
    check();
}

#[test]
fn a_report_on_standard_output_is_alone_there() {
    let (folder, _) = run_with("");
    let ran = folder.plimsoll(&["report", "run.plimsoll", "--json", "-"]);
    let json: serde_json::Value = serde_json::from_str(&ran.exits_with(0).stdout).unwrap();
    assert_eq!(json["verdict"], "MEASURED");
    let junit = folder.plimsoll(&["report", "run.plimsoll", "--junit", "-"]);
    assert!(junit.exits_with(0).stdout.starts_with("<?xml"), "{}", junit.stdout);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_before_anything_is_sent() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let url = format!("http://{}/", target.addr());
    for report in ["--html", "--md", "--json", "--junit"] {
        for run in [["run", "plan.toml"], ["http", &url]] {
            let asked = [run[0], run[1], "--json", "r.json", report, "no/such/report"];
            let asked = if report == "--json" { [&asked[..2], &asked[4..]].concat() } else { asked.to_vec() };
            folder
                .plimsoll(&asked)
                .exits_with(2)
                .stderr_contains(&["cannot write no/such/report", "nothing was sent"]);
        }
    }
    assert_eq!((target.requests(), target.connections()), (0, 0));
    assert_eq!(folder.files(""), ["plan.toml", "stderr.txt", "stdout.txt"]);
}

#[test]
fn a_run_that_does_not_begin_leaves_no_report_but_its_error_for_a_ci_job() {
    let folder = TestFolder::new(&closed(refusal().addr(), 1));
    let files = ["--html", "r.html", "--json", "r.json", "--junit", "r.xml", "--card", "card.md"];
    let asked = [&["run", "plan.toml"][..], &files].concat();
    // As an earlier run left them.
    for name in ["r.html", "r.json", "card.md"] {
        folder.write(name, "PASS");
    }
    folder.plimsoll(&asked).exits_with(2);
    let left = ["card.md", "plan.toml", "r.html", "r.xml", "stderr.txt", "stdout.txt"];
    assert_eq!(folder.files(""), left, "JSON of an earlier run is removed");
    assert!(folder.read("r.xml").contains("errors=\"1\""), "{}", folder.read("r.xml"));
    for name in ["r.html", "card.md"] {
        let text = folder.read(name);
        assert!(text.contains("NOT RUN") && !text.contains("PASS"), "{name}: {text}");
    }
}

/// A disk that is full when the reports are written: the other reports and the evidence are there.
#[test]
fn a_report_that_finds_no_space_exits_with_1_and_costs_nothing_else() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let ran = folder.plimsoll(&[
        "run",
        "plan.toml",
        "--quiet",
        "-o",
        "run.plimsoll",
        "--html",
        "/dev/full",
        "--json",
        "/dev/full",
        "--md",
        "r.md",
    ]);
    let once = |text: &str| ran.stderr.matches(text).count() == 2;
    assert!(once("cannot write /dev/full"), "{}", ran.stderr);
    ran.exits_with(1).stdout_contains(&["Markdown", "r.md", "MEASURED"]);
    assert!(folder.read("r.md").contains("MEASURED"));
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(0);
}

#[test]
fn every_file_that_is_written_is_listed() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let asked = ["run", "plan.toml", "--quiet", "--html", "r.html", "--json", "r.json", "--junit", "r.xml"];
    folder.plimsoll(&asked).exits_with(0).stdout_contains(&["r.html", "r.json", "r.xml", ".plimsoll"]);
}

/// 200 arrivals a second, of which 1 in 10 may be missing.
#[test]
fn goodput_is_judged_by_the_successes_that_ended() {
    let of = |behaviour: Behaviour| {
        let target = testbed::http(behaviour).unwrap();
        let plan = open(target.addr(), 5).replacen("rate = \"50/s\"", "rate = \"200/s\"", 1);
        let objective = "[objectives]\ngood = \"goodput(get, within = 5s) >= 180/s\"\n";
        let folder = TestFolder::new(&(plan + objective));
        let ran = folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll", "--json=run.json"]);
        (ran, folder.json("run.json")["claims"][0].clone())
    };
    let (ran, claim) = of(Behaviour::ok());
    ran.exits_with(0);
    assert_eq!(claim["verdict"], "PASS");
    assert!(claim["rate"].is_object(), "its limits are those of a rate: {claim}");
    let (ran, claim) = of(Behaviour::status(500));
    ran.exits_with(3);
    assert_eq!((&claim["verdict"], &claim["observed"]["value"]), (&"FAIL".into(), &0.0.into()));
}

const OF_VERSION_2: &str = "The run file is of version 2, which does not record which requests were under way while the \
                            generator stalled";
const OF_VERSION_1: &str =
    "The run file is of version 1, which has neither notices of observers nor profiles";

#[test]
fn files_of_earlier_versions_are_judged_and_what_they_do_not_record_is_said() {
    let folder = TestFolder::new("");
    folder.write("1.plimsoll", include_bytes!("../../../archive/tests/files/version-1.plimsoll"));
    folder.write("2.plimsoll", include_bytes!("../../../archive/tests/files/version-2.plimsoll"));
    let found = |file: &str| {
        folder.plimsoll(&["report", file, "--json=run.json"]);
        let findings = folder.json("run.json")["findings"].as_array().unwrap().clone();
        findings.iter().map(|finding| finding["what"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (first, second) = (found("1.plimsoll"), found("2.plimsoll"));
    assert!(first.is_empty(), "it did not stall, and observed nothing but itself: {first:?}");
    assert!(second.iter().any(|what| what.starts_with(OF_VERSION_2)), "{second:?}");
    assert!(!second.iter().any(|what| what.contains("notices of observers")), "{second:?}");
    folder
        .plimsoll(&["report", "2.plimsoll"])
        .exits_with(4)
        .stdout_contains(&["up to 120", "INCONCLUSIVE  fast"]);
    // Killed, so that it was never sealed, and with a target that was observed.
    let file = Connection::open(folder.path("1.plimsoll")).unwrap();
    let killed = "DELETE FROM seal; DELETE FROM run_end; UPDATE series SET target = 'web' WHERE name = 'rss'";
    file.execute_batch(killed).unwrap();
    drop(file);
    let first = found("1.plimsoll");
    assert!(first.iter().any(|what| what.starts_with(OF_VERSION_1)), "{first:?}");
    folder.plimsoll(&["report", "1.plimsoll"]).exits_with(4).stdout_contains(&["INCONCLUSIVE", "was killed"]);
}

#[test]
fn percentiles_are_chosen_for_a_run_for_a_url_and_for_a_report() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let heads = |out: &CommandOutput| {
        let line =
            out.stdout.lines().find(|line| line.starts_with("endpoint")).unwrap_or_else(|| panic!("{out:?}"));
        let of_response_time = line.split_whitespace().take_while(|head| *head != "service");
        let heads = of_response_time.filter(|head| head.starts_with('p')).map(str::to_owned);
        heads.collect::<Vec<_>>()
    };
    let chosen = ["--percentiles", "50,99.9,75"];
    let ran =
        folder.plimsoll(&[&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"], &chosen[..]].concat());
    assert_eq!(heads(ran.exits_with(0)), ["p50", "p75", "p99.9"]);
    let url = format!("http://{}/", target.addr());
    let ran = folder.plimsoll(&[&[url.as_str(), "-r", "50", "-z", "1s", "--quiet"], &chosen[..]].concat());
    assert_eq!(heads(ran.exits_with(0)), ["p50", "p75", "p99.9"]);
    let again = folder.plimsoll(&[&["report", "run.plimsoll", "--json", "r.json"], &chosen[..]].concat());
    assert_eq!(heads(again.exits_with(0)), ["p50", "p75", "p99.9"]);
    assert_eq!(folder.json("r.json")["endpoints"][0]["percentiles"][2]["percentile"], 99.9);
    assert_eq!(heads(&folder.plimsoll(&["report", "run.plimsoll"])), ["p50", "p90", "p95", "p99"], "as ever");
    for (list, why) in [
        ("0,50", "a percentile is above 0 and at most 100, and `0` is not"),
        ("p99", "`p99` is not a percentile; write them like `50,90,99.9`"),
        ("1,2,3,4,5,6,7,8,9", "9 percentiles are too many for a table: at most 8"),
    ] {
        folder
            .plimsoll(&["report", "run.plimsoll", "--percentiles", list])
            .exits_with(2)
            .stderr_contains(&[why]);
    }
}

#[test]
fn a_card_is_written_as_a_drawing_and_as_markdown() {
    let (folder, _) = run_with("few_errors = \"error_rate(all) <= 0%\"\n");
    folder
        .plimsoll(&["report", "run.plimsoll", "--card", "card.svg"])
        .exits_with(0)
        .stdout_contains(&["PASS"]);
    folder.plimsoll(&["report", "run.plimsoll", "--card", "card.md"]).exits_with(0);
    assert!(folder.read("card.svg").contains(">PASS<"), "{}", folder.read("card.svg"));
    let markdown = folder.read("card.md");
    assert!(markdown.starts_with("**✅ PASS**") && markdown.contains("**few\\_errors**"), "{markdown}");
    folder.plimsoll(&["report", "run.plimsoll", "--card", "card.png"]).exits_with(0);
    assert!(fs::read(folder.path("card.png")).unwrap().starts_with(b"\x89PNG"));
    let target = testbed::http(Behaviour::ok()).unwrap();
    folder.write(
        "plan.toml",
        closed(target.addr(), 1) + "[objectives]\nfew_errors = \"error_rate(all) <= 0%\"\n",
    );
    let again = ["run", "plan.toml", "--quiet", "-o", "again.plimsoll", "--card", "again.md"];
    folder.plimsoll(&again).exits_with(0).stdout_contains(&["card       again.md"]);
    assert!(folder.read("again.md").starts_with("**✅ PASS**"));
    let refused = folder.plimsoll(&["report", "run.plimsoll", "--card", "card.jpg"]);
    refused.exits_with(2).stderr_contains(&["a card is written to FILE.svg, FILE.png or FILE.md"]);
}
