//! Runs that end as soon as they are decided: what a look decides, and what is said of a run that ended so.

use std::time::Duration;

use evidence::{Ending, Metric, Verdict};
use workload::UntilDecided;

use crate::Look;
use crate::testing::{Load, TestRun};

const FAST: &str = "p95(list, phase = steady) < 50ms";

/// A run that is under way, after so many seconds of its steady phase.
fn under_way(seconds: u32, objectives: &[(&str, &str)]) -> TestRun {
    let mut test_run = TestRun::new();
    for second in 0..10 + seconds {
        test_run.offer_once(second, "list", Load::ok(100));
    }
    let asked = objectives.iter().fold(test_run, |run, (name, text)| run.with_objective(name, text));
    asked.killed()
}

fn look(test_run: &TestRun) -> Look {
    crate::look(&test_run.run, &test_run.workload).unwrap()
}

fn undecided(test_run: &TestRun) -> Vec<String> {
    look(test_run).undecided
}

#[test]
fn a_look_decides_what_the_evidence_so_far_decides() {
    let objectives = [
        ("fast", FAST),
        ("slow", "p95(list, phase = steady) < 1ms"),
        ("rare", "p99.9(list, phase = steady) < 1s"),
    ];
    let look = look(&under_way(20, &objectives));
    assert_eq!((look.violated, look.undecided), (vec!["slow".to_owned()], vec!["rare".to_owned()]));
    assert_eq!(undecided(&under_way(20, &objectives[..2])), [""; 0]);
    assert_eq!(under_way(20, &objectives[..1]).judge().verdict, Verdict::Inconclusive, "one that was killed");
}

#[test]
fn what_a_run_under_way_will_still_have_is_no_finding() {
    let mut test_run = under_way(20, &[("rare", "p99.9(list, phase = steady) < 1s"), ("fast", FAST)]);
    test_run.begin_without_end(29, 12);
    let so_far = crate::judgement_so_far(&test_run.run, &test_run.workload).unwrap();
    assert_eq!(so_far.findings, []);
    assert_eq!(
        so_far.claims.iter().map(|claim| claim.verdict).collect::<Vec<_>>(),
        [Verdict::Inconclusive, Verdict::Pass]
    );
    let texts = format!("{:?}", so_far.claims);
    assert!(!texts.contains("killed") && !texts.contains("end of the run"), "{texts}");
    let killed: Vec<_> = test_run.judge().findings.iter().map(|finding| finding.rule.to_string()).collect();
    assert_eq!(killed, ["S4", "L6"], "of one that was killed");
}

#[test]
fn an_objective_whose_phase_has_not_begun_is_not_decided() {
    let mut warming = TestRun::new().with_objective("fast", FAST);
    (0..8).for_each(|second| warming.offer_once(second, "list", Load::ok(100)));
    assert_eq!(undecided(&warming.killed()), ["fast"]);
}

#[test]
fn an_early_look_does_not_pass_what_has_not_failed_yet() {
    let mut test_run = under_way(50, &[("sound", "error_rate(list, phase = steady) < 10%")]);
    assert_eq!(undecided(&test_run), ["sound"]);
    let fail = |second: u32| test_run.offer_once(second, "list", Load { failed: 1, ..Load::ok(99) });
    [11, 20, 29, 38, 47, 56].into_iter().for_each(fail);
    assert_eq!(undecided(&test_run), [""; 0]);
}

#[test]
fn what_is_in_flight_may_end_in_either_way() {
    let mut test_run = under_way(50, &[("fast", FAST), ("sound", "error_rate(list, phase = steady) < 10%")]);
    test_run.count(Metric::Requests, "steady", "list", 60);
    assert_eq!(undecided(&test_run), [""; 0], "1 % of them");
    test_run.count(Metric::Requests, "steady", "list", 500);
    assert_eq!(undecided(&test_run), ["fast", "sound"], "10 % of them");
}

#[test]
fn the_verdict_on_a_run_that_was_decided_is_at_the_level_that_its_looks_share() {
    let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", FAST);
    let at = |second| Duration::from_secs(second);
    test_run.workload.until_decided = Some(UntilDecided::new(vec![at(25), at(40), at(55)], Vec::new()));
    let decided = test_run.ended(Ending::Decided, 40_210);
    insta::assert_snapshot!(decided.verdict(), @r"
    PASS: The objective is met. The run is too short to rule out outages longer than 1 s that occur less than once in 20 s. The run ended after 50 % of the planned time, decided at 98.1 %.
    PASS fast
      10.5 ms over 6,000 observations: 0 of 6,000 failed or took 50 ms or longer; the true share is at most 0.066 %, and 5 % is allowed (98.1 % confidence, effective sample size 6,000).
    ");
    assert_eq!(decided.judge().claims[0].share.as_ref().map(|share| share.confidence), Some(0.981));
}

#[test]
fn a_confidence_below_the_usual_one_in_a_file_is_not_believed() {
    let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("fast", FAST);
    for confidence in [0.5, -1.0, f64::NAN, 1.0] {
        let until = UntilDecided { confidence, ..UntilDecided::new(Vec::new(), Vec::new()) };
        test_run.workload.until_decided = Some(until);
        let share = test_run.judge().claims[0].share.clone();
        assert_eq!(share.map(|share| share.confidence), Some(0.95));
    }
}

#[test]
fn a_family_shares_its_confidence_among_the_looks() {
    let mut test_run =
        TestRun::new().offer("steady", "list", Load::ok(100)).with_objective("slow", "p95(list) < 1ms");
    test_run.workload.family = Some(0.96);
    test_run.workload.until_decided = Some(UntilDecided::new(vec![Duration::from_secs(9); 3], Vec::new()));
    let share = test_run.judge().claims[0].share.clone();
    assert_eq!(share.map(|share| share.confidence), Some(0.99));
}
