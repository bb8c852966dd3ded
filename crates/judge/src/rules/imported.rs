//! Rules on imported runs: where a rule needs something that the source did not record, the finding is that it is
//! unknown, which is neither correct nor a fault of the run.

mod intent;

use std::collections::BTreeMap;

use evidence::{Finding, Missing, Scope, Severity, Source};
use figures::ScenarioPhase;
use workload::{Measure, Statistic};

use crate::facts::{Facts, MeasuredObjective};
use crate::rule::{Rule, with_figures};
use crate::rules::dropped_or_late::{LATE_CAUTION, LATE_INVALID};
use crate::rules::{
    censored_quantile, closed_loop_or_capped, dropped_or_late, generator_saturated, impossible_or_bimodal,
    offered_load_not_reached,
};
use figures::number::brief;

pub(crate) fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(source) = facts.source else { return Vec::new() };
    let mut findings = unknown(source);
    findings.extend(facts.figures.scenario_phases.iter().filter_map(dropped));
    findings.extend(model(facts, source));
    findings.extend(intent::check(facts, source));
    findings.extend(time_limits(facts, source));
    findings.extend(figures(source));
    findings
}

/// What is unknown of the whole run, with or without objectives.
fn unknown(source: &Source) -> Vec<Finding> {
    let tool = &source.tool;
    let unknown: [(Missing, Rule, String); 3] = [
        (
            Missing::Arrivals,
            offered_load_not_reached::RULE,
            format!(
                "{tool} did not record how many arrivals were due: whether the planned load was offered is unknown."
            ),
        ),
        (
            Missing::DueTimes,
            dropped_or_late::RULE,
            format!(
                "{tool} did not record when requests were due: start lag is unknown, and waits before requests were \
                 sent are in none of these times."
            ),
        ),
        (
            Missing::GeneratorLoad,
            generator_saturated::RULE,
            format!("{tool} did not record its own load: whether the generator was at its limit is unknown."),
        ),
    ];
    let unknown = unknown.into_iter().filter(|(missing, ..)| source.lacks(*missing));
    unknown.map(|(_, rule, what)| rule.finding(Severity::Caution, Scope::default(), what)).collect()
}

/// Arrivals that were dropped for an unknown reason.
fn dropped(scenario_phase: &ScenarioPhase) -> Option<Finding> {
    let all = scenario_phase.done + scenario_phase.cancelled + scenario_phase.dropped_unknown;
    let share = scenario_phase.dropped_unknown as f64 / all.max(1) as f64;
    let (severity, threshold) = match share {
        s if s > LATE_INVALID => (Severity::Invalid, LATE_INVALID),
        s if s > LATE_CAUTION => (Severity::Caution, LATE_CAUTION),
        _ => return None,
    };
    let what = format!(
        "{} of {} {} ({}) were dropped; whether the target or the generator was too slow is unknown.",
        brief::count(scenario_phase.dropped_unknown),
        brief::count(all),
        scenario_phase.key.describe(),
        brief::percent(share)
    );
    let figures = [
        ("dropped", scenario_phase.dropped_unknown as f64, "1"),
        ("dropped share", share * 100.0, "%"),
        ("threshold", threshold * 100.0, "%"),
    ];
    Some(with_figures(dropped_or_late::RULE.finding(severity, scenario_phase.key.scope(), what), &figures))
}

/// Whether the rate was offered, or set by the target's own speed.
fn model(facts: &Facts<'_>, source: &Source) -> Vec<Finding> {
    if !source.lacks(Missing::Model) {
        return Vec::new();
    }
    let measured = facts.objectives.iter().filter(|measured| measured.is_a_rate());
    let finding = |measured: &MeasuredObjective<'_>| {
        let what = format!(
            "{} did not record whether arrivals waited for completions: whether this rate was offered, or set by the \
             target's own speed, is unknown.",
            source.tool
        );
        closed_loop_or_capped::RULE.finding(Severity::Inconclusive, measured.scope(), what)
    };
    measured.map(finding).collect()
}

/// Whether a quantile is a response time or a time limit.
fn time_limits(facts: &Facts<'_>, source: &Source) -> Vec<Finding> {
    if !source.lacks(Missing::TimeLimits) {
        return Vec::new();
    }
    let is_quantile = |measured: &&MeasuredObjective<'_>| {
        matches!(measured.objective.measure, Measure::ResponseTime(Statistic::Quantile(_)))
            && measured.observed.samples > 0
    };
    let finding = |measured: &MeasuredObjective<'_>| {
        let what = format!(
            "{} did not record the time limits of requests: whether this quantile is one of them is unknown.",
            source.tool
        );
        censored_quantile::RULE.finding(Severity::Caution, measured.scope(), what)
    };
    facts.objectives.iter().filter(is_quantile).map(finding).collect()
}

/// Figures of the source itself that are impossible, or a mean of two kinds of responses.
fn figures(source: &Source) -> Vec<Finding> {
    let mut by_subject: BTreeMap<&str, BTreeMap<&str, f64>> = BTreeMap::new();
    for figure in source.figures.iter().filter(|figure| figure.unit == "ms") {
        by_subject.entry(&figure.of).or_default().insert(&figure.name, figure.value);
    }
    by_subject.into_iter().filter_map(|(of, numbers)| impossible(of, &numbers)).collect()
}

fn impossible(of: &str, numbers: &BTreeMap<&str, f64>) -> Option<Finding> {
    let in_order = ["min", "p50", "p90", "p95", "p99", "p99.9", "max"];
    let stated: Vec<(&str, f64)> =
        in_order.iter().filter_map(|name| Some((*name, *numbers.get(name)?))).collect();
    let finding =
        |severity, what| Some(impossible_or_bimodal::RULE.finding(severity, Scope::default(), what));
    if let Some([lower, higher]) = stated.array_windows().find(|[lower, higher]| lower.1 > higher.1) {
        let (low, high) = (brief::ms(lower.1), brief::ms(higher.1));
        let what = format!("`{of}`: {} {low} above {} {high} is impossible.", lower.0, higher.0);
        return finding(Severity::Invalid, what);
    }
    let (mean, p95) = (*numbers.get("avg")?, *numbers.get("p95")?);
    if mean <= p95 {
        return None;
    }
    // The fastest 95 % average p95 at most, so the mean of the rest is at least this.
    let rest = (mean - 0.95 * p95) / 0.05;
    let (mean, p95, rest) = (brief::ms(mean), brief::ms(p95), brief::ms(rest));
    let what = format!("`{of}`: mean {mean} above p95 {p95}: the slowest 5 % average at least {rest}.");
    finding(Severity::Caution, what)
}

#[cfg(test)]
mod tests;
