//! T7: requests in flight that grow through a phase.
//!
//! Times of a target that does not keep up are those of a moment: they grow for as long as the load lasts. A phase that is
//! long enough violates any bound on them, so a pass says only how long it lasted. A violated bound stays violated.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::backlog::{Backlog, LEAST_GROWTH, LEAST_SHARE};
use crate::facts::Facts;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::T7,
    title: "backlog",
    severity: Severity::Inconclusive,
    tests: "For each open scenario and phase with a constant offered rate and at least 6 whole seconds: requests in \
            flight grew in each half of it by more than chance (one-sided, 95 %, by batches of seconds), and in all by \
            at least 10 requests and 1 % of those that were begun.",
    affects: "objectives on times of that scenario and phase: they cannot pass, and a FAIL remains",
    why: "A target that answers fewer requests than it is sent makes each wait longer than the one before: the times \
          of such a phase depend on its length, and a pass would not hold in a longer one.",
    next: "Offer less than it answers, or find out what limits it; `plimsoll capacity` searches for what it can do.",
    affected: AffectedClaims::TimesUnlessViolated,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.backlogs.iter().map(finding).collect()
}

fn finding(backlog: &Backlog) -> Finding {
    let Backlog { phase, scenario, is_one_request, seconds, begun_per_s, ended_per_s, growth, waiting } =
        backlog;
    let what = format!(
        "`{scenario}` in `{phase}`: {} were answered of {} {}; {} {} waiting at the end: the target does not \
         keep up.",
        brief::rate(*ended_per_s),
        brief::rate(*begun_per_s),
        if *is_one_request { "offered" } else { "requests begun" },
        brief::counted(*waiting, "request"),
        brief::were(*waiting)
    );
    let figures = [
        ("answered", *ended_per_s, "1/s"),
        ("begun", *begun_per_s, "1/s"),
        ("growth of requests in flight", *growth, "1"),
        ("in flight at the end", *waiting as f64, "1"),
        ("threshold", LEAST_GROWTH.max(LEAST_SHARE * begun_per_s * seconds), "1"),
    ];
    let scope = Scope { phase: Some(phase.clone()), scenario: Some(scenario.clone()), ..Scope::default() };
    with_figures(RULE.finding(Severity::Inconclusive, scope, what), &figures)
}

#[cfg(test)]
mod tests {
    use evidence::Verdict;

    use crate::testing::{Load, TestRun};

    #[test]
    fn requests_in_flight_that_grow_through_a_phase_are_found() {
        insta::assert_snapshot!(TestRun::overloaded(260, 195).findings(super::check), @r"
        inconclusive [steady/play] `play` in `steady`: 195.2/s were answered of 260/s offered; 3,890 requests were waiting at the end: the target does not keep up.
          answered Some(195.16666666666666) 1/s, begun Some(260.0) 1/s, growth of requests in flight Some(3890.0) 1, in flight at the end Some(3890.0) 1, threshold Some(156.0) 1
        ");
    }

    #[test]
    fn a_target_that_keeps_up_has_none() {
        let steady = TestRun::new().offer("steady", "list", Load::ok(260));
        assert_eq!(steady.findings(super::check), "nothing");
        assert_eq!(TestRun::overloaded(260, 260).findings(super::check), "nothing");
        let grown_once = |seconds: u32| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(260));
            (10..10 + seconds).for_each(|second| test_run.begin_without_end(second, 40));
            test_run.findings(super::check)
        };
        assert_eq!(grown_once(5), "nothing", "what is in flight grows once where answers take long");
        assert_ne!(grown_once(60), "nothing");
    }

    #[test]
    fn a_pass_on_times_is_not_shown_and_a_violation_stays() {
        let test_run = TestRun::overloaded(260, 195)
            .with_objective("slow", "p95(list, phase = steady) < 60s")
            .with_objective("fast", "p95(list, phase = steady) < 50ms")
            .with_objective("before", "p95(list, phase = warm-up) < 50ms");
        let claims = test_run.judge().claims;
        let verdicts: Vec<Verdict> = claims.iter().map(|claim| claim.verdict).collect();
        assert_eq!(verdicts, [Verdict::Inconclusive, Verdict::Fail, Verdict::Pass]);
    }

    /// A closed model sends no more than it is answered.
    #[test]
    fn a_closed_model_has_none() {
        assert_eq!(TestRun::overloaded(260, 195).closed(900).findings(super::check), "nothing");
    }
}
