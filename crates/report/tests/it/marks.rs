//! Events that were marked are in every report of a run: a list, and lines in the charts over run time.

use std::time::Duration;

use evidence::{Ending, Instant, Notice, NoticeKind, Observed, Sink as _};
use report::{Detail, Style, Summary};

use crate::{forms, sample_run};

/// The sample run with events marked at these times, in milliseconds.
fn marked(marks: &[(u64, &str)]) -> Summary {
    let mut run = sample_run::run(105, Some(Ending::Completed));
    let notice = |(at_ms, text): &(u64, &str)| Notice {
        at: Instant::at(Duration::from_millis(*at_ms)),
        observer: "mark".to_owned(),
        instance: None,
        kind: NoticeKind::Mark,
        text: (*text).to_owned(),
    };
    let notices = marks.iter().map(notice).collect();
    run.observed(&Observed { notices, ..Observed::default() }).expect("memory takes all");
    Summary::of(&run, &sample_run::workload(), &sample_run::judgement()).expect("memory can be read")
}

#[test]
fn every_form_lists_marks_by_number_and_time() {
    let summary =
        marked(&[(69_900, "deployed v2"), (72_200, "rolled back"), (101_000, "a replica was added")]);
    let terminal = forms::terminal(&summary, Style::Plain, 80, Detail::Full);
    let markdown = forms::markdown(&summary);
    let lines = |text: &str| {
        let is_mark =
            |line: &&str| ["Marks", "deployed", "rolled", "replica"].iter().any(|word| line.contains(word));
        text.lines().filter(is_mark).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(lines(&terminal), @"
    Marks
    1 · 1:09   deployed v2
    2 · 1:12   rolled back
    3 · 1:41   a replica was added
    ");
    insta::assert_snapshot!(lines(&markdown), @"
    ### Marks
    - **1 · 1:09** deployed v2
    - **2 · 1:12** rolled back
    - **3 · 1:41** a replica was added
    ");
    let json: serde_json::Value = serde_json::from_str(&forms::json(&summary)).expect("it is JSON");
    assert_eq!(json["marks"][0], serde_json::json!({ "at_s": 69.9, "text": "deployed v2" }));
    assert_eq!(json["marks"].as_array().map(Vec::len), Some(3));
}

#[test]
fn each_chart_over_run_time_has_a_line_at_the_time_of_a_mark() {
    let html = forms::html(&marked(&[(52_500, "deployed v2"), (103_000, "rolled back")]));
    let charts = html.matches("data-x=\"0 105 clock\"").count();
    // The middle of 105 s is the middle of the 454 units from 54 on.
    assert_eq!(html.matches("<path class=\"mark\" d=\"M281.0 22V214\">").count(), charts);
    assert_eq!(html.matches(">1<tspan> deployed v2</tspan>").count(), charts);
    // The last one has no space behind it, so its text is before its line.
    assert_eq!(html.matches("<text class=\"mark before\"").count(), charts);
    assert_eq!(html.matches(">2<tspan> rolled back</tspan>").count(), charts);
}

#[test]
fn a_run_without_marks_says_nothing_of_them() {
    let summary = marked(&[]);
    assert!(!forms::html(&summary).contains("class=\"mark\""));
    assert!(!forms::json(&summary).contains("\"marks\""));
}
