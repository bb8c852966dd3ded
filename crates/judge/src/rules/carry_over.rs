//! T5: a phase that began with a backlog of the one before.
//!
//! Requests in flight when a phase begins end within a second, or they are a backlog that this phase has to work off. A
//! short backlog is a caution. One that takes so long that it is in the 95th percentile invalidates the phase's times.

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{CarryOver, Facts};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::T5,
    title: "carry-over",
    severity: Severity::Invalid,
    tests: "Responses to requests that were due in an earlier phase and ended after the first second of this \
            one, counted as long as they are at least 10 % of all responses: 10 or more are a caution. It is \
            invalid where it took 5 % of the phase or longer until they had ended.",
    affects: "objectives on times of that phase",
    why: "The backlog of one phase is in the times of the next: they describe both.",
    next: "Leave time between the two for requests in flight to end, or start the phase later.",
    affected: AffectedClaims::Times,
    check: Check::Run(check),
};

/// Fewer such responses are not a backlog.
pub(crate) const CARRIED: u64 = 10;
/// A backlog that takes this share of the phase affects its 95th percentile, and is invalid.
pub(crate) const CARRIED_INVALID: f64 = 0.05;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.carry_overs.iter().filter(|carry_over| carry_over.carried >= CARRIED).map(finding).collect()
}

fn finding(carry_over: &CarryOver) -> Finding {
    let CarryOver { phase, drained_s, carried, length_s } = carry_over;
    let share = f64::from(*drained_s) / length_s.max(f64::MIN_POSITIVE);
    let severity = if share >= CARRIED_INVALID { Severity::Invalid } else { Severity::Caution };
    let what = format!(
        "`{phase}` began with a backlog: {} of earlier phases ended in it, and working them off took {drained_s} \
         s of {} s.",
        brief::counted(*carried, "request"),
        brief::significant(*length_s)
    );
    let figures = [
        ("carried over", *carried as f64, "1"),
        ("worked off after", f64::from(*drained_s), "s"),
        ("share of the phase", share * 100.0, "%"),
        ("threshold", CARRIED_INVALID * 100.0, "%"),
    ];
    let scope = Scope { phase: Some(phase.clone()), ..Scope::default() };
    with_figures(RULE.finding(severity, scope, what), &figures)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    /// Requests of the warm-up that end in each of the first `seconds` of the steady phase.
    fn with_backlog(seconds: u32, each: u64) -> TestRun {
        let mut test_run =
            TestRun::new().offer("warm-up", "list", Load::ok(100)).offer("steady", "list", Load::ok(100));
        (10..10 + seconds).for_each(|second| test_run.end_from_warm_up(second, each));
        test_run
    }

    #[test]
    fn a_short_backlog_is_a_caution_and_a_long_one_is_invalid() {
        insta::assert_snapshot!(with_backlog(2, 60).findings(super::check), @r"
        caution [steady] `steady` began with a backlog: 60 requests of earlier phases ended in it, and working them off took 2 s of 60 s.
          carried over Some(60.0) 1, worked off after Some(2.0) s, share of the phase Some(3.3333333333333335) %, threshold Some(5.0) %
        ");
        insta::assert_snapshot!(with_backlog(5, 60).findings(super::check), @r"
        invalid [steady] `steady` began with a backlog: 240 requests of earlier phases ended in it, and working them off took 5 s of 60 s.
          carried over Some(240.0) 1, worked off after Some(5.0) s, share of the phase Some(8.333333333333332) %, threshold Some(5.0) %
        ");
    }

    #[test]
    fn requests_in_flight_when_a_phase_begins_are_no_backlog() {
        assert_eq!(with_backlog(1, 60).findings(super::check), "nothing");
        assert_eq!(
            with_backlog(5, 5).findings(super::check),
            "nothing",
            "a few slow requests are not a backlog"
        );
        assert_eq!(with_backlog(0, 0).findings(super::check), "nothing");
    }
}
