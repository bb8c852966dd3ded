//! T4: a phase in which most requests failed.

use std::collections::BTreeMap;

use evidence::{Finding, Outcome, RuleId, Scope, Severity};
use figures::{PhaseWindow, Row};

use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, RAISE_VU_LIMIT, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::T4,
    title: "functional-failure-phase",
    severity: Severity::Caution,
    tests: "Fewer than 50 % of the arrivals that were due in a phase succeeded, or of those of one endpoint \
            in a phase.",
    affects: "nothing directly: failures count as infinitely slow (thresholds of scripts: Q3); it refuses differences between runs of that phase \
              and endpoint",
    why: "The latency of failures is not the latency of a working target.",
    next: "Look at the failed exchanges in the HTML report, which show what the target answered.",
    affected: AffectedClaims::Times,
    check: Check::Run(check),
};

/// With a smaller share of successes the latency of a phase is that of failures.
pub(crate) const MIN_SUCCESS: f64 = 0.50;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.figures.phases.iter().flat_map(|phase| in_phase(facts, phase)).collect()
}

/// One finding for the phase if it failed as a whole, else one for each endpoint that failed.
fn in_phase(facts: &Facts<'_>, phase: &PhaseWindow) -> Vec<Finding> {
    let endpoints: Vec<&Row> = facts.figures.endpoints().filter(|c| *c.key.phase == *phase.name).collect();
    let scope = Scope { phase: Some(phase.name.clone()), ..Scope::default() };
    if let Some(finding) = mostly_failed(&endpoints, scope, phase) {
        return vec![finding];
    }
    endpoints.iter().filter_map(|endpoint| mostly_failed(&[*endpoint], endpoint.key.scope(), phase)).collect()
}

fn mostly_failed(endpoints: &[&Row], scope: Scope, phase: &PhaseWindow) -> Option<Finding> {
    let attempted: u64 = endpoints.iter().map(|e| e.attempted()).sum();
    let ok: u64 = endpoints.iter().map(|e| e.ok.count()).sum();
    let share = ok as f64 / attempted.max(1) as f64;
    if attempted == 0 || share >= MIN_SUCCESS {
        return None;
    }
    let of = scope.endpoint.as_ref().map(|endpoint| format!(" of `{endpoint}`")).unwrap_or_default();
    let what = format!(
        "{} success{of} for {} of `{}` ({} of {}): {}. Its latencies are not those of a working target.",
        brief::percent(share),
        brief::ms(phase.length_s() * 1e3),
        phase.name,
        brief::count(ok),
        brief::count(attempted),
        most_frequent_failure(endpoints.iter().copied())
    );
    let figures = [("success", share * 100.0, "%"), ("threshold", MIN_SUCCESS * 100.0, "%")];
    let finding = with_figures(RULE.finding(Severity::Caution, scope, what), &figures);
    Some(match is_mostly_dropped(endpoints) {
        // There is no failed exchange to look at.
        true => Finding { next: format!("{RAISE_VU_LIMIT}, or plan a lower rate."), ..finding },
        false => finding,
    })
}

/// Whether more arrivals were dropped at the VU limit than requests failed.
fn is_mostly_dropped(endpoints: &[&Row]) -> bool {
    let sum = |count: fn(&Row) -> u64| endpoints.iter().map(|endpoint| count(endpoint)).sum::<u64>();
    sum(|endpoint| endpoint.dropped_vu_limit) > sum(|endpoint| endpoint.failed.count())
}

/// The most frequent failure, with its count.
pub(crate) fn most_frequent_failure<'a>(endpoints: impl IntoIterator<Item = &'a Row>) -> String {
    let endpoints: Vec<&Row> = endpoints.into_iter().collect();
    let mut failures: BTreeMap<Outcome, u64> = BTreeMap::new();
    for (outcome, n) in endpoints.iter().flat_map(|c| &c.outcomes).filter(|(outcome, _)| outcome.is_failure())
    {
        *failures.entry(*outcome).or_default() += n;
    }
    let dropped: u64 = endpoints.iter().map(|c| c.dropped_vu_limit).sum();
    match failures.into_iter().max_by_key(|(outcome, n)| (*n, std::cmp::Reverse(*outcome))) {
        Some((outcome, n)) if n >= dropped => format!("{} ended in `{outcome}`", brief::count(n)),
        _ => format!("{} were dropped at the VU limit", brief::count(dropped)),
    }
}

#[cfg(test)]
mod tests {
    use evidence::Outcome;

    use super::{RAISE_VU_LIMIT, RULE};
    use crate::testing::{Load, TestRun};

    #[test]
    fn a_dead_target_is_named_for_its_phase() {
        let dead = Load { failed: 100, outcome: Outcome::Refused, ..Load::ok(0) };
        let test_run = TestRun::new().offer("warm-up", "list", Load::ok(100)).offer("steady", "list", dead);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady] 0 % success for 60 s of `steady` (0 of 6,000): 6,000 ended in `refused`. Its latencies are not those of a working target.
          success Some(0.0) %, threshold Some(50.0) %
        ");
    }

    #[test]
    fn a_dead_endpoint_is_named_by_itself() {
        let dead = Load { failed: 9, outcome: Outcome::Http5xx, ..Load::ok(1) };
        let test_run = TestRun::new().offer("steady", "list", Load::ok(100)).offer("steady", "claim", dead);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady/play/claim] 10 % success of `claim` for 60 s of `steady` (60 of 600): 540 ended in `http_5xx`. Its latencies are not those of a working target.
          success Some(10.0) %, threshold Some(50.0) %
        ");
    }

    #[test]
    fn what_was_dropped_at_the_vu_limit_needs_a_higher_one() {
        let load = Load { dropped_vu_limit: 60, ..Load::ok(40) };
        let test_run = TestRun::new().offer("steady", "list", load);
        let findings = test_run.judge().findings;
        let next =
            findings.iter().find(|finding| finding.rule == RULE.id).map(|finding| finding.next.as_str());
        assert_eq!(next, Some(&*format!("{RAISE_VU_LIMIT}, or plan a lower rate.")));
    }

    #[test]
    fn a_target_with_49_percent_failures_gives_no_finding() {
        let test_run = TestRun::new().offer("steady", "list", Load { failed: 49, ..Load::ok(51) });
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }

    #[test]
    fn a_target_that_answers_only_500_fails_its_latency_objective() {
        let failing = Load { failed: 100, outcome: Outcome::Http5xx, ..Load::ok(0) };
        let test_run =
            TestRun::new().offer("steady", "list", failing).with_objective("fast", "p95(list) < 50ms");
        assert_eq!(test_run.judge().claims[0].verdict, evidence::Verdict::Fail, "{}", test_run.verdict());
    }
}
