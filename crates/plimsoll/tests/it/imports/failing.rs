//! Summaries of runs in which more than a third of the requests failed.

use serde_json::json;

use super::{says, with};

/// The file, and how many of its 2,154 requests failed.
const SUMMARIES: [(&str, u64, &str); 2] = [
    ("k6-failing.json", 794, "794 of 2,154 requests failed (36.9 %)"),
    ("ghz-failing.txt", 799, "799 of 2,154 requests failed (37.1 %)"),
];

#[test]
fn error_rates_and_quantiles_of_a_failing_run_fail() {
    for (file, failed, sentence) in SUMMARIES {
        let folder = with(file);
        let asked = [
            "import",
            file,
            "-o",
            "run.plimsoll",
            "--ask",
            "error_rate(all) < 1%",
            "--ask",
            "p95(all) < 5ms",
        ];
        let ran = folder.plimsoll(&[&asked[..], &["--json", "run.json", "--junit", "run.xml"]].concat());
        ran.exits_with(3);
        says(&ran.stdout, &["FAIL", sentence, "requests failed or took 5 ms or longer"]);
        let report = folder.json("run.json");
        let [rate, p95] = &report["claims"].as_array().unwrap()[..] else { panic!("{report}") };
        assert_eq!([&rate["verdict"], &p95["verdict"]], ["FAIL", "FAIL"], "{file}");
        assert_eq!(
            (&rate["share"]["least"], &rate["share"]["arrivals"]),
            (&json!(failed), &json!(2_154)),
            "{file}"
        );
        assert_eq!(p95["observed"]["value"], json!(null), "{file}: failures count as infinitely slow");
        assert!(p95["share"]["least"].as_u64().unwrap() >= failed, "{p95}");
        let out = folder.read("run.xml");
        assert!(out.split("<system-out>").any(|out| out.contains(sentence)), "{out}");
    }
}

#[test]
fn a_summary_that_passes_has_the_share_in_every_report() {
    let (file, _, sentence) = SUMMARIES[0];
    let folder = with(file);
    let asked =
        ["import", file, "-o", "run.plimsoll", "--ask", "error_rate(all) < 60%", "--junit", "run.xml"];
    let ran = folder.plimsoll(&asked);
    ran.exits_with(0);
    assert_eq!(ran.stdout.matches("By the figures of k6").count(), 1, "{}", ran.stdout);
    let report = folder.read("run.xml");
    assert!(!report.contains("<failure") && report.contains(sentence), "{report}");
}
