//! Each objective's answer: what was observed against its bound, and what the findings leave of it.

use evidence::{Claim, Ending, Figure, Finding, Severity, Verdict};
use workload::Comparison;

use crate::facts::{Asked, Facts};
use crate::measure::Value;
use crate::rule::{Guard, named};
use crate::words;

/// The answer to every objective, in the plan's order.
pub(crate) fn of(facts: &Facts<'_>, findings: &[Finding]) -> Vec<Claim> {
    facts.asked.iter().map(|asked| claim(facts, asked, findings)).collect()
}

fn claim(facts: &Facts<'_>, asked: &Asked<'_>, findings: &[Finding]) -> Claim {
    let mut verdict = seen(asked);
    let mut reasons = vec![sentence(facts, asked)];
    for (finding, severity) in findings.iter().filter_map(|f| Some((f, weight(facts, asked, f)?))) {
        if severity == Severity::Info {
            continue;
        }
        reasons.push(format!("{} {} ({severity}): {}", finding.rule, finding.title, finding.what));
        verdict = doubted(verdict, (finding, severity));
    }
    if verdict == Verdict::Pass && !facts.is_complete() {
        verdict = Verdict::Inconclusive;
        reasons.push(cut_short(facts));
    }
    let value = match asked.observed.value {
        Value::Finite(value) => value,
        Value::Infinite | Value::Missing(_) => f64::INFINITY,
    };
    Claim {
        name: asked.objective.name.clone(),
        text: asked.objective.source.clone(),
        verdict,
        observed: Figure::new("observed", value, &asked.observed.unit),
        bound: Figure::new("bound", asked.objective.bound, &asked.observed.unit),
        interval: asked.observed.interval,
        samples: asked.observed.samples,
        reasons,
    }
}

/// What the number alone says. Exact: nothing is rounded.
fn seen(asked: &Asked<'_>) -> Verdict {
    match asked.observed.value {
        Value::Finite(value) if asked.objective.comparison.holds(value, asked.objective.bound) => {
            Verdict::Pass
        }
        Value::Finite(_) | Value::Infinite => Verdict::Fail,
        Value::Missing(_) => Verdict::Inconclusive,
    }
}

/// What a finding leaves of a verdict.
fn doubted(verdict: Verdict, (finding, severity): (&Finding, Severity)) -> Verdict {
    let stays_missed =
        named(&finding.rule).guard == Guard::LoadUnlessMissed && finding.scope.objective.is_none();
    match severity {
        Severity::Invalid if verdict == Verdict::Fail && stays_missed => verdict,
        Severity::Invalid => Verdict::Invalid,
        Severity::Inconclusive if verdict != Verdict::Invalid => Verdict::Inconclusive,
        _ => verdict,
    }
}

/// How much a finding weighs for an objective; none when it does not touch it.
pub(crate) fn weight(facts: &Facts<'_>, asked: &Asked<'_>, finding: &Finding) -> Option<Severity> {
    let guard = named(&finding.rule).guard;
    if let Some(objective) = &finding.scope.objective {
        return (objective == asked.name()).then_some(finding.severity);
    }
    let is_guarded = match guard {
        Guard::Everything => true,
        // A cap that is low for the whole scenario hides waits; counts and rates it does not touch.
        Guard::Load if finding.scope.phase.is_none() => asked.is_about_times(),
        Guard::Load | Guard::OfferedLoad => asked.is_about_load(),
        // A rate of a closed model has a finding of its own, which says the same and more.
        Guard::LoadUnlessMissed => {
            asked.is_about_load() && (finding.severity == Severity::Invalid || !asked.is_a_rate())
        }
        Guard::Times => asked.is_about_times(),
        Guard::Named | Guard::Differences => false,
    };
    let touches =
        is_guarded && (guard == Guard::Everything || asked.applies_to(&finding.scope, &facts.tables));
    let weight = match guard {
        Guard::OfferedLoad if !speaks_of_a_rate(facts, asked) => finding.severity.max(Severity::Caution),
        _ => finding.severity,
    };
    touches.then_some(weight)
}

/// Whether anything an objective counts came at a rate of its own.
fn speaks_of_a_rate(facts: &Facts<'_>, asked: &Asked<'_>) -> bool {
    let filter = &asked.objective.filter;
    let mut stretches = facts.tables.stretches.iter().filter(|s| {
        let same = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|w| w == name);
        same(&filter.phase, &s.place.phase) && same(&filter.scenario, &s.place.scenario)
    });
    stretches.any(|s| {
        let has_endpoint = |wanted: &String| {
            facts.scenario(&s.place.scenario).is_some_and(|sc| sc.steps().any(|step| step.name == *wanted))
        };
        filter.endpoint.as_ref().is_none_or(has_endpoint) && facts.is_open(&s.place.scenario)
    })
}

/// What was observed, held against the bound, in words.
fn sentence(facts: &Facts<'_>, asked: &Asked<'_>) -> String {
    let observed = &asked.observed;
    let bound = bound(asked);
    let counted = if asked.is_about_load() { "observations" } else { "samples" };
    let samples = words::whole(observed.samples);
    let holds = if seen(asked) == Verdict::Pass { "keeps" } else { "misses" };
    match &observed.value {
        Value::Missing(why) => why.clone(),
        Value::Infinite => format!(
            "Infinite: too many of {samples} observations failed or were dropped; that {holds} {bound}{}.",
            users(facts, asked)
        ),
        Value::Finite(value) => format!(
            "{} over {samples} {counted} {holds} {bound}{}.",
            quantity(asked, *value),
            users(facts, asked)
        ),
    }
}

/// The comparison and the bound: `< 50 ms`.
pub(crate) fn bound(asked: &Asked<'_>) -> String {
    let sign = match asked.objective.comparison {
        Comparison::Below => "<",
        Comparison::AtMost => "<=",
        Comparison::Above => ">",
        Comparison::AtLeast => ">=",
    };
    format!("{sign} {}", quantity(asked, asked.objective.bound))
}

fn quantity(asked: &Asked<'_>, value: f64) -> String {
    match asked.objective.measure.unit() {
        "1" => words::percent(value),
        _ => words::quantity(value, &asked.observed.unit),
    }
}

/// ` with 10 virtual users`, for an objective on closed models alone.
fn users(facts: &Facts<'_>, asked: &Asked<'_>) -> String {
    if !asked.is_about_load() || facts.source.is_some() || speaks_of_a_rate(facts, asked) {
        return String::new();
    }
    let scenarios = facts.workload.scenarios.iter().filter(|s| {
        let scope = evidence::Scope { scenario: Some(s.name.clone()), ..Default::default() };
        asked.applies_to(&scope, &facts.tables)
    });
    let users: u64 = scenarios.map(|s| u64::from(s.max_vus)).sum();
    format!(" with {} virtual users", words::whole(users))
}

/// Why a run that did not run its course shows nothing for certain.
pub(crate) fn cut_short(facts: &Facts<'_>) -> String {
    let planned = facts.workload.phases.last().map_or(0.0, |phase| phase.end.as_secs_f64());
    let how = match facts.end.map(|end| &end.ending) {
        None => "was killed".to_owned(),
        Some(Ending::Interrupted) => "was interrupted".to_owned(),
        Some(Ending::Aborted(why)) => format!("broke off ({why})"),
        Some(Ending::Completed) => "completed".to_owned(),
    };
    format!(
        "The run {how} after {} s of {} s: what held so far is not shown to hold.",
        facts.seconds,
        words::number(planned)
    )
}
