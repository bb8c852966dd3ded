//! Q2: a quantile that is the time limit, and not a response time.

use std::time::Duration;

use evidence::{Finding, RuleId, Severity};
use figures::Row;
use workload::{Measure, Statistic};

use crate::facts::{Facts, MeasuredObjective};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q2,
    title: "censored-quantile",
    severity: Severity::Caution,
    tests: "The share of arrivals that took at least 98 % of their step's time limit is 1 − q or more, for \
            an objective on the quantile q.",
    affects: "nothing directly: a request that reached its time limit failed, and counts as infinitely slow",
    why: "The quantile is the time limit, not a response time: its true value is unknown.",
    next: "Raise the step's `timeout` above the bound, or lower the load.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

/// A response that took this share of its time limit counts as cut off by it.
pub(crate) const NEAR_TIMEOUT: f64 = 0.98;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.objectives.iter().filter_map(|measured| censored(facts, measured)).collect()
}

fn censored(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let Measure::ResponseTime(Statistic::Quantile(q)) = measured.objective.measure else { return None };
    let (mut cut_off, mut shortest) = (0, Duration::MAX);
    for endpoint in measured.endpoints(&facts.figures) {
        let Some(limit) = limit(facts, endpoint) else { continue };
        let from_us = u64::try_from(limit.mul_f64(NEAR_TIMEOUT).as_micros()).unwrap_or(u64::MAX);
        let here = endpoint.ok.count_from_us(from_us) + endpoint.failed.count_from_us(from_us);
        if here > 0 {
            (cut_off, shortest) = (cut_off + here, shortest.min(limit));
        }
    }
    let share = cut_off as f64 / measured.observed.samples.max(1) as f64;
    if cut_off == 0 || share < 1.0 - q - 1e-12 {
        return None;
    }
    let limit_ms = shortest.as_secs_f64() * 1e3;
    let what = format!(
        "{} is the time limit of {}: {} of arrivals reached it; the true value is unknown, at least {}.",
        brief::quantile(q),
        brief::ms(limit_ms),
        brief::percent(share),
        brief::ms(limit_ms * NEAR_TIMEOUT)
    );
    let figures = [
        ("share at the time limit", share * 100.0, "%"),
        ("threshold", (1.0 - q) * 100.0, "%"),
        ("time limit", limit_ms, "ms"),
    ];
    Some(with_figures(RULE.finding(Severity::Caution, measured.scope(), what), &figures))
}

/// The time limit of an endpoint's step.
fn limit(facts: &Facts<'_>, endpoint: &Row) -> Option<Duration> {
    let scenario = facts.scenario(&endpoint.key.scenario)?;
    scenario.steps().find(|step| *step.name == *endpoint.key.endpoint).map(|step| step.timeout)
}

#[cfg(test)]
mod tests {
    use evidence::Outcome;

    use crate::testing::{Load, TestRun};

    fn timeouts(failed: u64) -> TestRun {
        let load =
            Load { failed, outcome: Outcome::Timeout, failed_us: 10_000_000, ..Load::ok(100 - failed) };
        TestRun::new().offer("steady", "list", load)
    }

    #[test]
    fn a_quantile_at_the_time_limit_is_unknown() {
        let test_run = timeouts(6).with_objective("slow", "p95(list) < 15s");
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [slow] p95 is the time limit of 10 s: 6 % of arrivals reached it; the true value is unknown, at least 9.8 s.
          share at the time limit Some(6.0) %, threshold Some(5.000000000000004) %, time limit Some(10000.0) ms
        ");
    }

    #[test]
    fn a_bound_below_the_time_limit_is_violated_nevertheless() {
        let test_run = timeouts(6).with_objective("fast", "p95(list) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [fast] p95 is the time limit of 10 s: 6 % of arrivals reached it; the true value is unknown, at least 9.8 s.
          share at the time limit Some(6.0) %, threshold Some(5.000000000000004) %, time limit Some(10000.0) ms
        "#);
    }

    #[test]
    fn fewer_timeouts_than_the_tail_give_no_finding() {
        let test_run =
            timeouts(4).with_objective("fast", "p95(list) < 50ms").with_objective("mean", "avg(list) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
