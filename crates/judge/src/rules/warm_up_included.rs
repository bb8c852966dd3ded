//! T1: the phase includes the warm-up of the target.
//!
//! An objective is about its whole phase, including the warm-up. So a warm-up is a caution, as long as the result is the
//! same without it. Where it is not, the warm-up decided the result, which does not describe steady state: that
//! objective, and no other, is invalid. Differences between runs are stricter: `compare::rules::t1`.

mod pairs;

use evidence::{Finding, Histogram, RuleId, Severity};
use workload::{Measure, Statistic};

use crate::facts::{Facts, MeasuredObjective, SteadyState, SteadyStateAnalysis};
use crate::measure::Value;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::T1,
    title: "warm-up-included",
    severity: Severity::Invalid,
    tests: "Whether the target was still warming up when the phase began. The steady state of an endpoint begins \
            in the first second from which p50, p95, the rate and the share of successes stay within 5 % of one level, \
            without drift, for 60 s or longer and for half of the phase or longer. If it does not begin in \
            the first second, that is a caution. If an objective on a quantile has another result without the \
            seconds before it, and the quantile changes by more than 2.5 %, that objective is invalid. In a \
            comparison both runs are cut at the later of their two beginnings, and the values from there on are \
            reported; a p50 or p95 that the cut changes by more than 2.5 % is invalid. A steady state is looked \
            for at endpoints of at least 10 requests a second (p95: 40), in phases of 60 s or longer whose load \
            is planned to be constant. Levels are segments fitted by least squares.",
    affects: "objectives on times of that endpoint and phase; differences between runs there",
    why: "Times during the warm-up of caches, pools and compilers are not those of steady state.",
    next: "Put a warm-up phase before it, and state objectives for the phase after that.",
    affected: AffectedClaims::Times,
    check: Check::Both { run: check, pair: pairs::check },
};

/// A warm-up that changes a quantile by more than this share affects it; half of the margin within which quantiles
/// are called equal.
pub(crate) const WARM_UP_MOVES: f64 = 0.025;
/// MSER-5 disagrees when its cut is more than this share of the phase away.
pub(crate) const MSER_APART: f64 = 0.2;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        facts.steady_states.iter().filter_map(|analysis| warm_up(facts, analysis)).collect();
    findings.extend(facts.objectives.iter().filter_map(|measured| decisive_warm_up(facts, measured)));
    findings
}

fn warm_up(facts: &Facts<'_>, analysis: &SteadyStateAnalysis) -> Option<Finding> {
    let steady = analysis.state.as_ref().ok().filter(|steady| steady.start_s > 0)?;
    let endpoint = facts.figures.endpoints().find(|endpoint| endpoint.key == analysis.key)?;
    let [before, after] = [
        endpoint.ok.quantile_with(0.95, endpoint.infinitely_slow()).finite_us().map(|us| us / 1_000.0),
        steady.after.quantile_ms(0.95),
    ];
    let shown = |p95: Option<f64>| p95.map_or("infinite".to_owned(), brief::ms);
    let what = format!(
        "{} reaches steady state after {} s of {} s ({} last). With its warm-up p95 is {}, without {}.{}",
        analysis.key.describe(),
        steady.start_s,
        analysis.seconds.len(),
        steady.last_series,
        shown(before),
        shown(after),
        mser_difference(analysis, steady)
    );
    let figures = [
        ("steady from", f64::from(steady.start_s), "s"),
        ("p95", before.unwrap_or(f64::INFINITY), "ms"),
        ("p95, steady", after.unwrap_or(f64::INFINITY), "ms"),
    ];
    Some(with_figures(RULE.finding(Severity::Caution, analysis.key.scope(), what), &figures))
}

/// The cut of MSER-5, where that is far away.
fn mser_difference(analysis: &SteadyStateAnalysis, steady: &SteadyState) -> String {
    let apart = steady.mser_s.map(|cut| cut.abs_diff(steady.start_s));
    match steady.mser_s.filter(|_| apart.map(f64::from) > Some(MSER_APART * analysis.seconds.len() as f64)) {
        Some(cut) => format!(" MSER-5 would cut at {cut} s: check the plot before using either."),
        None => String::new(),
    }
}

/// Whether an objective on a quantile has another result without the warm-up.
fn decisive_warm_up(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let Measure::ResponseTime(Statistic::Quantile(q)) = measured.objective.measure else { return None };
    let (mut times, mut infinitely_slow, mut is_cut) = (Histogram::new(), 0, false);
    for endpoint in measured.endpoints(&facts.figures) {
        let analysis = facts.steady_states.iter().find(|analysis| analysis.key == endpoint.key);
        match analysis.and_then(|analysis| analysis.state.as_ref().ok()).filter(|s| s.start_s > 0) {
            Some(steady) => {
                is_cut = true;
                times.merge(&steady.after.ok);
                infinitely_slow += steady.after.infinitely_slow;
            }
            None => {
                times.merge(&endpoint.ok);
                infinitely_slow += endpoint.infinitely_slow();
            }
        }
    }
    let steady_ms =
        times.quantile_with(q, infinitely_slow).finite_us().map_or(f64::INFINITY, |us| us / 1_000.0);
    let whole = match measured.observed.value {
        Value::Finite(ms) => ms,
        Value::Infinite => f64::INFINITY,
        Value::Missing(_) | Value::Unselected(_) => return None,
    };
    let is_met =
        |ms: f64| ms.is_finite() && measured.objective.comparison.holds(ms, measured.objective.bound);
    let changes = whole.is_infinite() || (whole / steady_ms).ln().abs() > WARM_UP_MOVES.ln_1p();
    if !is_cut || !changes || is_met(whole) == is_met(steady_ms) {
        return None;
    }
    let what = format!(
        "The warm-up decides the result: {} is {} with it and {} without.",
        brief::quantile(q),
        brief::ms(whole),
        brief::ms(steady_ms)
    );
    let figures = [
        ("with warm-up", whole, "ms"),
        ("without warm-up", steady_ms, "ms"),
        ("threshold", WARM_UP_MOVES * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Invalid, measured.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun, five_minutes};

    /// Five minutes, the first 40 s of which are slow.
    fn warming(slow_us: u64) -> TestRun {
        five_minutes(|second| Load { us: if second < 40 { slow_us } else { 10_000 }, ..Load::ok(50) })
    }

    #[test]
    fn a_warm_up_is_a_caution() {
        insta::assert_snapshot!(warming(30_000).findings(super::check), @r"
        caution [steady/play/list] `list` in `steady` reaches steady state after 40 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 10.5 ms.
          steady from Some(40.0) s, p95 Some(30.010416666666668) ms, p95, steady Some(10.4995) ms
        ");
    }

    #[test]
    fn a_warm_up_that_decides_invalidates_the_objective_alone() {
        let test_run = warming(30_000)
            .with_objective("quick", "p95(list) < 20ms")
            .with_objective("slow", "p95(list) < 50ms");
        insta::assert_snapshot!(test_run.verdict(), @r"
        INVALID: 1 of 2 objectives has no valid result: quick. 1 is met. The run is too short to rule out outages longer than 5 s that occur less than once in 100 s. Next: Put a warm-up phase before it, and state objectives for the phase after that.
        INVALID quick
          30 ms over 15,000 observations: 2,000 of 15,000 (13.3 %) failed or took 20 ms or longer; the true share is 3.35 % to 93.9 %, and 5 % is allowed (95 % confidence, effective sample size 1.3).
          L3 generator-saturated (caution): The generator's CPU was not measured: whether it was at its limit is unknown.
          T1 warm-up-included (caution): `list` in `steady` reaches steady state after 40 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 10.5 ms.
          T1 warm-up-included (invalid): The warm-up decides the result: p95 is 30 ms with it and 10.5 ms without.
        PASS slow
          30 ms over 15,000 observations: 0 of 15,000 failed or took 50 ms or longer; the true share is at most 0.0998 %, and 5 % is allowed (95 % confidence, effective sample size 3,000).
          L3 generator-saturated (caution): The generator's CPU was not measured: whether it was at its limit is unknown.
          T1 warm-up-included (caution): `list` in `steady` reaches steady state after 40 s of 300 s (p50 last). With its warm-up p95 is 30 ms, without 10.5 ms.
        ");
    }

    #[test]
    fn an_endpoint_that_is_steady_from_the_start_gives_no_finding() {
        assert_eq!(warming(10_100).findings(super::check), "nothing");
    }
}
