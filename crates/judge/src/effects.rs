//! What a finding does to each claim, from its scope and its severity and from which claims its rule affects.

use evidence::{ClaimEffect, Effect, Finding, Severity};
use figures::is_any_or;

use crate::facts::{Facts, MeasuredObjective};
use crate::rule::AffectedClaims;
use crate::rules;

/// The effects of `finding`, in the order of the objectives.
pub(crate) fn of(facts: &Facts<'_>, finding: &Finding) -> Vec<ClaimEffect> {
    let on = |measured: &MeasuredObjective<'_>| {
        Some(ClaimEffect { claim: measured.name().to_owned(), effect: effect(facts, measured, finding)? })
    };
    facts.objectives.iter().filter_map(on).collect()
}

/// None where the finding does not affect the objective.
fn effect(facts: &Facts<'_>, measured: &MeasuredObjective<'_>, finding: &Finding) -> Option<Effect> {
    let effect = match finding.severity {
        Severity::Invalid => Effect::Invalidates,
        Severity::Inconclusive => Effect::LeavesUndecided,
        Severity::Caution => Effect::Cautions,
        Severity::Fail | Severity::Info => return None,
    };
    if let Some(objective) = &finding.scope.objective {
        return (objective == measured.name()).then_some(effect);
    }
    let affected = rules::by_id(finding.rule).affected;
    if affected == AffectedClaims::Everything {
        return Some(effect);
    }
    if !measured.applies_to(&finding.scope, &facts.figures) {
        return None;
    }
    match affected {
        AffectedClaims::Load => measured.is_about_load().then_some(effect),
        // A VU limit that is too low for the whole scenario hides waits; it changes no count and no rate.
        AffectedClaims::LoadUnlessViolated if finding.scope.phase.is_none() && effect == Effect::Cautions => {
            measured.is_about_times().then_some(effect)
        }
        // Completions a second are fewer where fewer requests were sent: that is not a violation.
        AffectedClaims::LoadUnlessViolated if measured.counts_completions() => Some(effect),
        AffectedClaims::LoadUnlessViolated => measured.is_about_load().then_some(effect.unless_violated()),
        AffectedClaims::LoadExceptRatesOfClosed => {
            let is_closed = finding.scope.phase.is_none();
            (measured.is_about_load() && !(is_closed && measured.is_a_rate())).then_some(effect)
        }
        AffectedClaims::Times => measured.is_about_times().then_some(effect),
        AffectedClaims::TimesUnlessViolated => measured.is_about_times().then_some(effect.unless_violated()),
        AffectedClaims::Everything | AffectedClaims::Named | AffectedClaims::Differences => None,
    }
}

/// Whether any scenario that the objective counts is an open model.
pub(crate) fn has_offered_rate(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> bool {
    let filter = &measured.objective.filter;
    let mut scenario_phases = facts.figures.scenario_phases.iter().filter(|s| {
        is_any_or(filter.phase.as_ref(), &s.key.phase) && is_any_or(filter.scenario.as_ref(), &s.key.scenario)
    });
    scenario_phases.any(|s| {
        let has_endpoint = |endpoint: &String| {
            facts.scenario(&s.key.scenario).is_some_and(|sc| sc.steps().any(|step| step.name == *endpoint))
        };
        filter.endpoint.as_ref().is_none_or(has_endpoint) && facts.is_open(&s.key.scenario)
    })
}
