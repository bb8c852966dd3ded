//! What is not known is not zero.

use evidence::memory::MemoryRun;
use evidence::{Key, Metric, Missing, Outcome, Source};
use report::summary::{SideValue, Summary};
use report::{Detail, Style};

use crate::{forms, judgements, sample_run};

fn summary(run: &MemoryRun) -> Summary {
    Summary::of(run, &sample_run::workload(), &judgements::measured()).expect("memory")
}

/// Times of another tool, without how the requests ended.
fn imported_run() -> MemoryRun {
    let mut run = MemoryRun::new(sample_run::manifest());
    let key = Key::of(Metric::ResponseTime).scenario("play").phase("ramp").endpoint("claim");
    for second in 0..10 {
        run.record(&key, second, 5_000, 10);
    }
    let missing = [Missing::DueTimes, Missing::Arrivals, Missing::Outcomes].into();
    run.imported_from(Source { tool: "tool".to_owned(), missing, ..Source::default() });
    run
}

fn imported() -> Summary {
    summary(&imported_run())
}

/// Whole iterations, and requests of which some fail.
fn sequence() -> MemoryRun {
    let mut run = MemoryRun::new(sample_run::manifest());
    let whole = |metric| Key::of(metric).scenario("play").phase("ramp");
    for second in 0..10 {
        for metric in [Metric::Scheduled, Metric::Started, Metric::IterationsDone] {
            run.add(&whole(metric), second, 25);
        }
        run.record(&whole(Metric::IterationTime).outcome(Outcome::Ok), second, 9_000, 25);
        for (outcome, n) in [(Outcome::Ok, 20), (Outcome::Timeout, 5)] {
            run.record(&whole(Metric::ResponseTime).endpoint("claim").outcome(outcome), second, 8_000, n);
        }
    }
    run
}

#[test]
fn unknown_outcomes_are_not_failures_of_zero_per_cent() {
    let summary = imported();
    for page in [
        forms::terminal(&summary, Style::Plain, 120, Detail::Full),
        forms::markdown(&summary),
        forms::html(&summary),
    ] {
        assert!(page.contains("not known"), "{page}");
        for zero in [
            "0 failed",
            "<td class=\"n \">0 %",
            "| 0 % |",
            " 0 % ",
            ">100 %<",
            "100 % succeeded",
            "No request failed",
        ] {
            assert!(!page.contains(zero), "{zero} in {page}");
        }
    }
    let json: serde_json::Value = serde_json::from_str(&forms::json(&summary)).expect("JSON");
    let accounting = &json["accounting"];
    for field in ["ok", "failed", "cancelled", "by_outcome"] {
        assert!(accounting[field].is_null(), "{field}: {}", accounting[field]);
    }
    assert_eq!(accounting["completed"], 100);
    assert!(json["endpoints"][0]["by_outcome"].is_null());
    assert_eq!(
        (&json["endpoints"][0]["completed"], &json["endpoints"][0]["throughput_per_s"]),
        (&100.into(), &10.0.into())
    );
}

#[test]
fn arrivals_that_were_not_counted_are_not_drawn() {
    let page = forms::html(&imported());
    assert!(!page.contains("offered (arrivals due)") && !page.contains("failures</li>"), "{page}");
}

#[test]
fn whole_iterations_have_their_rate() {
    let summary = summary(&sequence());
    let whole = summary.rows.iter().find(|row| row.label == "(whole iteration)").expect("a row");
    assert_eq!(whole.throughput_per_s, Some(25.0));
    // Arrivals were counted, and no iteration ended.
    let mut run = MemoryRun::new(sample_run::manifest());
    run.add(&Key::of(Metric::Scheduled).scenario("play").phase("ramp"), 0, 25);
    assert_eq!(self::summary(&run).rows[0].throughput_per_s, Some(0.0));
}

#[test]
fn a_comparison_does_not_count_what_one_side_does_not_know() {
    let (imported, sequence, workload) = (imported_run(), sequence(), sample_run::workload());
    let compared = judgements::compared([&imported, &sequence], &workload);
    let endpoints = &compared.phases[0].endpoints;
    let find = |name: &str| endpoints.iter().find(|table| table.endpoint == name).expect("it is compared");
    let values = |table: &str, name: &str| -> Vec<SideValue> {
        find(table).measures.iter().find(|measure| measure.name == name).expect("a row").values.clone()
    };
    assert_eq!(find("claim").failures[&Outcome::Timeout], [None, Some(50)]);
    assert_eq!(values("claim", "failed"), [SideValue::Missing, SideValue::Finite(20.0)]);
    assert_eq!(values("claim", "p95, failures as ∞"), [SideValue::Missing, SideValue::Infinite]);
    assert_eq!(values("", "throughput"), [SideValue::Missing, SideValue::Finite(25.0)]);
    assert!(forms::terminal(&compared, Style::Plain, 100, Detail::Full).contains("timeout: A –, B 50"));
}
