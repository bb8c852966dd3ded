//! The report of an experiment: every pair is a dot, what moved most comes with its numbers, hostile names are escaped.

use evidence::{
    CostPlace, EffectScale, ExperimentEnd, ExperimentFinding, ExperimentJudgement, MetricAnswer,
    MetricVerdict, MovedCost, PairOrder, Severity, Verdict,
};
use report::document::{self, Reported as _};
use report::experiment::{ExperimentSummary, PairOfRuns};

use crate::well_formed;

const HOSTILE: &str = "<script>alert(1)</script>\u{1b}[31m";

fn metric(name: &str, verdict: MetricVerdict) -> MetricAnswer {
    MetricAnswer {
        name: name.to_owned(),
        of: "p50(list)".to_owned(),
        unit: "ms".to_owned(),
        scale: EffectScale::Relative,
        is_better_higher: false,
        margin: 0.05,
        verdict,
        because: "A difference is shown.".to_owned(),
        decided_at: Some(6),
        pairs: 3,
        medians: [Some(10.0), Some(11.0)],
        effect: Some(0.1),
        interval: Some((0.06, 0.14)),
        interval_end_error: Some(0.0025),
        p: Some(0.000_01),
        sign_flip: None,
        deviation: Some(0.02),
        smallest_visible: Some(0.07),
        without_value: [0; 2],
        values: vec![[Some(10.0), Some(11.0)], [Some(10.0), None], [Some(10.0), Some(11.2)]],
        by_second: None,
        probe: None,
    }
}

fn experiment() -> ExperimentSummary {
    let judgement = ExperimentJudgement {
        rules_version: 1,
        verdict: Verdict::Fail,
        because: format!("1 of 2 metrics regressed: {HOSTILE}."),
        level: 0.005,
        looks: vec![6, 10, 16],
        pairs: 3,
        end: ExperimentEnd::Decided,
        metrics: vec![metric(HOSTILE, MetricVerdict::Regressed), metric("p95", MetricVerdict::Inconclusive)],
        findings: vec![ExperimentFinding {
            name: "order-effect".to_owned(),
            severity: Severity::Caution,
            pairs: Vec::new(),
            what: HOSTILE.to_owned(),
            next: "Reset the state.".to_owned(),
        }],
        moved_most: vec![
            MovedCost {
                place: CostPlace::Function,
                name: HOSTILE.to_owned(),
                ms: [0.0, 0.015],
                pairs: 3,
                p: 0.0006,
            },
            MovedCost {
                place: CostPlace::Statement,
                name: "SELECT 1".to_owned(),
                ms: [2.0, 0.5],
                pairs: 3,
                p: 0.000_01,
            },
        ],
        also_moved: Vec::new(),
    };
    let pair = |number| PairOfRuns {
        number,
        order: PairOrder::Ba,
        files: ["a.plimsoll".to_owned(), HOSTILE.to_owned()],
        digests: [String::new(), String::new()],
    };
    ExperimentSummary {
        name: HOSTILE.to_owned(),
        arms: ["./old".to_owned(), HOSTILE.to_owned()],
        judgement,
        runs: (1..=3).map(pair).collect(),
    }
}

#[test]
fn the_page_draws_every_pair_that_has_a_change_and_escapes_names() {
    let page = document::html(&experiment().document());
    well_formed::check(&page).unwrap();
    assert_eq!(page.matches("class=\"dot\"").count(), 4, "two metrics, of which a pair has no change");
    assert_eq!(page.matches("class=\"dot mean\"").count(), 2);
    assert!(!page.contains("<script>alert"), "names are escaped");
    assert!(!page.contains('\u{1b}'));
    let parts = ["+10.0 %", "none", "15 µs", "+15 µs", "−1.50 ms", "order-effect"];
    assert!(parts.iter().all(|part| page.contains(part)), "{page}");
}

#[test]
fn what_moved_most_is_in_every_report_for_readers() {
    let experiment = experiment();
    let document = experiment.document();
    let shown = document::terminal(&document, report::Style::Plain, 100, report::Detail::Full).to_string();
    assert!(shown.contains("What moved most"), "{shown}");
    let line = "statement SELECT 1: −1.50 ms a request, from 2.00 ms to 500 µs (p <0.0001, 3 pairs)";
    assert!(shown.contains(line), "{shown}");
    let summary = document::markdown(&document);
    assert!(summary.contains("### What moved most") && summary.contains("## ❌ FAIL"), "{summary}");
    assert!(experiment.json().contains("\"place\": \"statement\""));
    assert!(document::junit(&document, document::Undecided::Error).contains("<failure"));
    assert!(shown.contains("p95: pairs vary by 2.00 %"), "{shown}");
    assert_eq!(
        shown.matches(": pairs vary by").count(),
        1,
        "of what is shown nothing more could have been seen"
    );
}
