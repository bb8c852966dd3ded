//! Q1: one objective on two populations.

use evidence::{Finding, RuleId, Severity, Verdict};
use figures::TimeGroup;
use workload::{Measure, Statistic};

use crate::facts::{Facts, MeasuredObjective};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q1,
    title: "pooled-phases",
    severity: Severity::Caution,
    tests: "One objective covers phases, scenarios or endpoints of at least 100 observations each whose \
            failure rates differ by more than 1 percentage point or whose medians differ by more than a \
            factor of 2, and not each of them separately has the result of all of them together.",
    affects: "nothing directly: the objective is still judged over all of them together",
    why: "A percentile over two different groups describes neither: it is just another percentile of the slower group.",
    next: "State the objective for one phase and one endpoint: `p95(list, phase = steady) < 50ms`.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

/// The largest difference of failure rates in one pool.
pub(crate) const POOLED_FAILURES: f64 = 0.01;
/// The largest ratio of medians in one pool.
pub(crate) const POOLED_MEDIANS: f64 = 2.0;
/// Groups of fewer observations are not compared.
pub(crate) const POOLED_GROUP: u64 = 100;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts
        .objectives
        .iter()
        .filter_map(|measured| pooled(measured, &measured.time_groups(&facts.figures)))
        .collect()
}

fn pooled(measured: &MeasuredObjective<'_>, groups: &[TimeGroup<'_>]) -> Option<Finding> {
    let large: Vec<&TimeGroup<'_>> = groups.iter().filter(|group| group.count() >= POOLED_GROUP).collect();
    let is_answer = measured.verdict() == Verdict::Pass;
    if large.iter().all(|group| is_met(measured, group) == is_answer) {
        return None;
    }
    failure_rates(measured, &large).or_else(|| medians(measured, &large))
}

/// Whether a group by itself meets the objective.
fn is_met(measured: &MeasuredObjective<'_>, group: &TimeGroup<'_>) -> bool {
    let (Measure::ResponseTime(statistic)
    | Measure::ServiceTime(statistic)
    | Measure::IterationTime(statistic)) = measured.objective.measure
    else {
        return false;
    };
    let us = match statistic {
        Statistic::Quantile(q) => group.times.quantile_with(q, group.infinitely_slow).finite_us(),
        Statistic::Mean => group.times.mean_us(),
        Statistic::Max => group.times.max_us().map(|us| us as f64),
        Statistic::Min => group.times.min_us().map(|us| us as f64),
    };
    us.is_some_and(|us| measured.objective.comparison.holds(us / 1_000.0, measured.objective.bound))
}

fn failure_rates(measured: &MeasuredObjective<'_>, groups: &[&TimeGroup<'_>]) -> Option<Finding> {
    let share = |group: &&&TimeGroup<'_>| group.infinitely_slow_share();
    let most = groups.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let least = groups.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let difference = most.infinitely_slow_share() - least.infinitely_slow_share();
    if difference <= POOLED_FAILURES {
        return None;
    }
    let what = format!(
        "`{}` pools {} ({} failed) with {} ({}): the tail is that of the first.",
        measured.objective.source,
        most.key.describe(),
        brief::percent(most.infinitely_slow_share()),
        least.key.describe(),
        brief::percent(least.infinitely_slow_share())
    );
    let figures = [
        ("difference of failure rates", difference * 100.0, "%"),
        ("threshold", POOLED_FAILURES * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Caution, measured.scope(), what), &figures))
}

fn medians(measured: &MeasuredObjective<'_>, groups: &[&TimeGroup<'_>]) -> Option<Finding> {
    let median = |group: &TimeGroup<'_>| group.times.quantile(0.5).finite_us().filter(|us| *us > 0.0);
    let known: Vec<(f64, &TimeGroup<'_>)> = groups.iter().filter_map(|g| Some((median(g)?, *g))).collect();
    let (high, slow) = known.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (low, fast) = known.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    if high / low <= POOLED_MEDIANS {
        return None;
    }
    let what = format!(
        "`{}` pools {} (median {}) with {} (median {}).",
        measured.objective.source,
        slow.key.describe(),
        brief::ms(high / 1e3),
        fast.key.describe(),
        brief::ms(low / 1e3)
    );
    let figures = [("ratio of medians", high / low, "1"), ("threshold", POOLED_MEDIANS, "1")];
    Some(with_figures(RULE.finding(Severity::Caution, measured.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    #[test]
    fn pooled_phases_with_different_failure_rates_are_a_caution() {
        let test_run = TestRun::new()
            .offer("warm-up", "list", Load { failed: 6, ..Load::ok(94) })
            .offer("steady", "list", Load::ok(100))
            .with_objective("fast", "p95(list) < 50ms")
            .with_objective("few_errors", "error_rate(all) < 5%");
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [fast] `p95(list) < 50ms` pools `list` in `warm-up` (6 % failed) with `list` in `steady` (0 %): the tail is that of the first.
          difference of failure rates Some(6.0) %, threshold Some(1.0) %
        ");
    }

    #[test]
    fn pooled_endpoints_with_different_medians_are_a_caution() {
        let test_run = TestRun::new()
            .offer("steady", "list", Load::ok(100))
            .offer("steady", "claim", Load { us: 31_000, ..Load::ok(10) })
            .with_objective("fast", "p95(all) < 20ms");
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [fast] `p95(all) < 20ms` pools `claim` in `steady` (median 31 ms) with `list` in `steady` (median 10 ms).
          ratio of medians Some(3.0988282334647637) 1, threshold Some(2.0) 1
        ");
    }

    #[test]
    fn one_endpoint_in_one_phase_and_similar_endpoints_give_no_finding() {
        let test_run = TestRun::new()
            .offer("warm-up", "list", Load { failed: 6, ..Load::ok(94) })
            .offer("steady", "list", Load::ok(100))
            .offer("steady", "claim", Load { us: 19_000, ..Load::ok(10) })
            .with_objective("fast", "p95(list, phase = steady) < 50ms")
            .with_objective("similar", "p95(all, phase = steady) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }

    #[test]
    fn pooling_that_cannot_change_the_answer_leaves_it() {
        let test_run = TestRun::new()
            .offer("steady", "list", Load { us: 1_000, ..Load::ok(100) })
            .offer("steady", "claim", Load { us: 2_200, ..Load::ok(50) })
            .with_objective("fast", "p95(all) < 500ms")
            .with_objective("slow", "p95(all) < 1ms");
        let verdicts: Vec<_> = test_run.judge().claims.iter().map(|claim| claim.verdict).collect();
        assert_eq!(verdicts, [evidence::Verdict::Pass, evidence::Verdict::Fail], "{}", test_run.verdict());
    }
}
