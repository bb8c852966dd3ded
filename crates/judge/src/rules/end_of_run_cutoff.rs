//! L7: requests in flight at the end of the run were counted as failed.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{Facts, LastSecond};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L7,
    title: "end-of-run-cutoff",
    severity: Severity::Caution,
    tests: "At least 10 requests failed in the last second without an HTTP response, and their number is within 15 % of the \
            requests in flight before it.",
    affects: "objectives on requests of the last phase",
    why: "Requests that the end of the run cut off did not fail: they had no time to complete.",
    next: "Give scenarios a `graceful_stop` as long as their longest response.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// Fewer failures in the last second are ignored.
pub(crate) const CUTOFF_FAILURES: u64 = 10;
/// Failures of the last second that differ from the requests in flight by no more than this share are cut-offs.
pub(crate) const CUTOFF_NEAR: f64 = 0.15;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let last = facts.figures.phases.iter().rfind(|phase| phase.seconds().start < facts.seconds);
    let phase = last.map(|phase| phase.name.clone());
    facts
        .last_second
        .and_then(|last| cut_off(last, Scope { phase, ..Scope::default() }))
        .into_iter()
        .collect()
}

fn cut_off(last: LastSecond, scope: Scope) -> Option<Finding> {
    let failed = last.failed as f64;
    if last.failed < CUTOFF_FAILURES || (failed - last.in_flight).abs() > CUTOFF_NEAR * last.in_flight {
        return None;
    }
    let what = format!(
        "{} requests failed without a response in the last second, and {} were in flight before it: the end of the run cut them off.",
        brief::count(last.failed),
        brief::significant(last.in_flight)
    );
    let figures = [
        ("failed", failed, "1"),
        ("in flight", last.in_flight, "1"),
        ("threshold", CUTOFF_NEAR * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Caution, scope, what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::{Outcome, SeriesKey};

    use crate::testing::{Load, TestRun};

    fn ending_with(failed: u64) -> TestRun {
        ending_with_outcome(failed, Outcome::Timeout)
    }

    fn ending_with_outcome(failed: u64, outcome: Outcome) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.observe(
            &SeriesKey::new("in_flight", SeriesKey::GENERATOR, "1").instance(evidence::Instance::default()),
            0..70,
            40.0,
        );
        test_run.offer_once(69, "list", Load { failed, outcome, ..Load::ok(0) });
        test_run
    }

    #[test]
    fn as_many_failures_as_requests_in_flight_were_cut_off() {
        insta::assert_snapshot!(ending_with(42).findings(super::check), @r"
        caution [steady] 42 requests failed without a response in the last second, and 40 were in flight before it: the end of the run cut them off.
          failed Some(42.0) 1, in flight Some(40.0) 1, threshold Some(15.0) %
        ");
    }

    #[test]
    fn other_failures_are_those_of_the_target() {
        assert_eq!(ending_with(80).findings(super::check), "nothing");
        assert_eq!(ending_with(0).findings(super::check), "nothing");
        assert_eq!(ending_with_outcome(42, Outcome::Http5xx).findings(super::check), "nothing");
    }

    #[test]
    fn it_is_a_caution_for_errors_and_times_of_the_last_phase() {
        let test_run = ending_with(42)
            .with_objective("errors", "error_rate(list, phase = steady) < 5%")
            .with_objective("fast", "p95(list, phase = steady) < 50ms")
            .with_objective("before", "p95(list, phase = warm-up) < 50ms");
        let findings = test_run.judge().findings;
        let cut_off = findings.iter().find(|finding| finding.rule == evidence::RuleId::L7).unwrap();
        let affected: Vec<&str> = cut_off.affects.iter().map(|affected| affected.claim.as_str()).collect();
        assert_eq!(affected, ["errors", "fast"]);
    }
}
