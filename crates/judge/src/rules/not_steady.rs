//! T2: an endpoint that does not reach steady state within its phase.
//!
//! Differences between runs are then inconclusive. No objective of a run by itself is affected: it is about what users of
//! that phase got, steady or not. Phases whose load is planned to change have no steady state, and phases that are too
//! short to show one are reported in comparisons alone.

mod pairs;

use evidence::{Finding, RuleId, Severity};
use stats::NotSteady;
use stats::steady::MIN_STEADY_S;

use crate::facts::{Facts, NotSteadyReason, SteadyStateAnalysis};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::T2,
    title: "not-steady",
    severity: Severity::Inconclusive,
    tests: "Whether an endpoint reaches a steady state, in phases of 60 s or longer with constant load (T1 says which \
            endpoints). It does not if its p50, p95, rate or share of successes drifts by 5 % or more over the steady part \
            (and by at least 2 % at the end of the confidence interval that is closer to none), changes its level in the \
            second half of the phase, or oscillates; nor if in any 5 s the share of failed requests is 5 percentage points \
            higher than over the steady part. If slow cycles or noise that wanders leave too few independent batches to \
            know, that is a caution. A comparison also reports which phases are too short to know.",
    affects: DIFFERENCES,
    why: "An endpoint that does not reach steady state has no level to compare with another run: the difference \
          depends on the moment.",
    next: "Run longer, and find out what grows, recurs or breaks: plots and observed series show when.",
    affected: AffectedClaims::Differences,
    check: Check::Both { run: check, pair: pairs::check },
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.steady_states.iter().filter_map(finding).collect()
}

fn finding(analysis: &SteadyStateAnalysis) -> Option<Finding> {
    let endpoint = analysis.key.describe();
    let what = match analysis.state.as_ref().err()? {
        NotSteadyReason::Untested
        | NotSteadyReason::ShortPhase
        | NotSteadyReason::Series(_, NotSteady::TooShort { steady_s: 0 }) => return None,
        NotSteadyReason::Series(name, why) => format!("{endpoint}: {name} {}.", describe(*why, analysis)),
        NotSteadyReason::Burst { at_s, share, mean } => format!(
            "{endpoint}: around second {} of its phase {} of the requests failed, over its whole steady part {}.",
            at_s - analysis.seconds.start,
            brief::percent(*share),
            brief::percent(*mean)
        ),
    };
    let is_unknown = matches!(analysis.state, Err(NotSteadyReason::Series(_, NotSteady::Unknown { .. })));
    let severity = if is_unknown { Severity::Caution } else { Severity::Inconclusive };
    Some(RULE.finding(severity, analysis.key.scope(), what))
}

fn describe(why: NotSteady, analysis: &SteadyStateAnalysis) -> String {
    let (moved, length) = (|change: f64| if change > 0.0 { "rose" } else { "fell" }, analysis.seconds.len());
    let share = |change: f64| brief::percent(change.exp_m1().abs());
    match why {
        NotSteady::TooShort { steady_s } => {
            format!("is steady for its last {steady_s} s only, and {MIN_STEADY_S} s are needed")
        }
        NotSteady::Drift { change } => {
            format!("{} by {} over {length} s, and did not reach steady state", moved(change), share(change))
        }
        NotSteady::RegimeChange { at_s, change } => format!(
            "{} by {} at {at_s} s of {length} s and stayed there, too late for a warm-up",
            moved(change),
            share(change)
        ),
        NotSteady::Unknown { batches, needed_s } => format!(
            "is too short to test for steady state: {batches} independent batches in {length} s; about {} are needed",
            brief::length(needed_s as f64)
        ),
        NotSteady::Oscillation { changes } => {
            format!("oscillated: {changes} changes of its level in {length} s")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun, five_minutes};

    fn findings_for(us: impl Fn(u32) -> u64) -> String {
        five_minutes(|second| Load { us: us(second), ..Load::ok(50) }).findings(super::check)
    }

    #[test]
    fn an_endpoint_without_steady_state_is_inconclusive() {
        insta::assert_snapshot!(findings_for(|second| 10_000 + 10 * u64::from(second)), @"inconclusive [steady/play/list] `list` in `steady`: p50 rose by 26.6 % over 300 s, and did not reach steady state.");
        insta::assert_snapshot!(findings_for(|second| if second < 220 { 10_000 } else { 13_000 }), @"inconclusive [steady/play/list] `list` in `steady`: p50 rose by 30 % at 220 s of 300 s and stayed there, too late for a warm-up.");
        insta::assert_snapshot!(findings_for(|second| if second / 65 % 2 == 0 { 10_000 } else { 15_000 }), @"inconclusive [steady/play/list] `list` in `steady`: p50 oscillated: 4 changes of its level in 300 s.");
    }

    #[test]
    fn a_burst_of_failures_is_not_steady() {
        let burst = |second| if (200..205).contains(&second) { 25 } else { 0 };
        let test_run = five_minutes(|second| Load { failed: burst(second), ..Load::ok(50 - burst(second)) });
        insta::assert_snapshot!(test_run.findings(super::check), @"inconclusive [steady/play/list] `list` in `steady`: around second 200 of its phase 50 % of the requests failed, over its whole steady part 0.833 %.");
    }

    #[test]
    fn a_steady_endpoint_a_ramp_and_a_short_phase_give_no_finding() {
        assert_eq!(findings_for(|_| 10_000), "nothing");
        assert_eq!(findings_for(|second| if second < 30 { 30_000 } else { 10_000 }), "nothing");
        let mut ramp = five_minutes(|second| Load::ok(50 + u64::from(second)));
        assert!(
            ramp.findings(super::check).contains("the rate of successes rose"),
            "{}",
            ramp.findings(super::check)
        );
        let stages = vec![workload::Stage { to: 350.0, over: std::time::Duration::from_secs(300) }];
        ramp.workload.scenarios[0].executor =
            workload::Executor::RampingArrivalRate { start_rate: 50.0, stages };
        assert_eq!(ramp.findings(super::check), "nothing");
        let mut short = TestRun::new();
        (0..10).for_each(|s| short.offer_once(s, "list", Load { us: 1_000 << s, ..Load::ok(50) }));
        assert_eq!(short.findings(super::check), "nothing");
        let few = five_minutes(|second| Load { us: 10_000 + 10 * u64::from(second), ..Load::ok(5) });
        assert_eq!(few.findings(super::check), "nothing");
    }
}
