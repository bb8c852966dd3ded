//! The claim on each objective: what was observed, compared with its bound, and the verdict after all findings.

mod sentence;

use evidence::{BlindSpot, Claim, ClaimShare, Ending, Figure, Finding, Reason, Verdict};
use workload::{Comparison, Measure};

use crate::effects::has_offered_rate;
use crate::facts::{Facts, MeasuredObjective};
use crate::measure::{RateMeasurement, ShareMeasurement, Value};
use figures::number::brief;

pub(crate) use sentence::next_of_generator as generator_step;

/// The claim on every objective, in the plan's order.
pub(crate) fn of(facts: &Facts<'_>, findings: &[Finding]) -> Vec<Claim> {
    let mut claims: Vec<Claim> =
        facts.objectives.iter().map(|measured| claim(facts, measured, findings)).collect();
    let has_violated = claims.iter().any(|claim| claim.verdict == Verdict::Fail);
    if has_violated && facts.decided().is_some() {
        claims.iter_mut().filter(|claim| claim.verdict == Verdict::Pass).for_each(take_back_early_pass);
    }
    claims
}

/// A violated objective ends a run at the first look that shows it; a pass needs two looks in turn.
fn take_back_early_pass(claim: &mut Claim) {
    claim.verdict = Verdict::Inconclusive;
    if let Some(share) = &mut claim.share {
        share.blind_spot = None;
    }
    claim.reasons.push(Reason::Statement(
        "The run ended early because another objective is violated, and a pass needs two looks in turn."
            .to_owned(),
    ));
}

fn claim(facts: &Facts<'_>, measured: &MeasuredObjective<'_>, findings: &[Finding]) -> Claim {
    let mut verdict = measured.verdict();
    let mut reasons = vec![observation(facts, measured)];
    let unsent = facts.workers.unsent_of_vanished();
    let open = measured.observed.share.as_ref().and_then(|share| sentence::of_generator(share, unsent));
    reasons.extend(open.map(Reason::Statement));
    for (finding, effect) in findings.iter().filter_map(|f| Some((f, f.effect_on(measured.name())?))) {
        reasons.push(Reason::from_finding(finding, effect));
        // What has no verdict has none to lose.
        verdict = if verdict == Verdict::Measured { verdict } else { effect.on(verdict) };
    }
    if verdict == Verdict::Pass && !facts.can_pass() {
        verdict = Verdict::Inconclusive;
        reasons.push(Reason::Statement(cut_short(facts)));
    }
    if verdict == Verdict::Pass && facts.is_early_look() && has_seen_no_failure(measured) {
        verdict = Verdict::Inconclusive;
        reasons.push(Reason::Statement(NO_FAILURE_YET.to_owned()));
    }
    if verdict == Verdict::Fail && !facts.is_complete() && measured.may_be_met_by_more() {
        verdict = Verdict::Inconclusive;
        reasons.push(Reason::Statement(too_early(facts)));
    }
    let is_decided_for_good = verdict == Verdict::Fail && measured.is_violated_for_good();
    if matches!(verdict, Verdict::Pass | Verdict::Fail) && facts.is_open_ended() && !is_decided_for_good {
        verdict = Verdict::Inconclusive;
        reasons.push(Reason::Statement(
            "Nothing limits how many requests are missing here, and they may decide otherwise.".to_owned(),
        ));
    }
    if verdict == Verdict::Pass && facts.stopped_by() == Some(measured.name()) {
        verdict = Verdict::Inconclusive;
        let why = format!(
            "{} Requests that completed afterwards brought the value back within the limit: not decided.",
            stopped_early(facts).unwrap_or_default()
        );
        reasons.push(Reason::Statement(why));
    }
    let value = match measured.observed.value {
        Value::Finite(value) => value,
        Value::Infinite | Value::Missing(_) | Value::Unselected(_) => f64::INFINITY,
    };
    Claim {
        name: measured.objective.name.clone(),
        text: measured.objective.source.clone(),
        verdict,
        observed: Figure::new("observed", value, &measured.observed.unit),
        bound: Figure::new("bound", measured.objective.bound, &measured.observed.unit),
        interval: measured.observed.interval,
        samples: measured.observed.samples,
        share: share(measured, verdict),
        rate: measured.observed.rate.as_ref().map(RateMeasurement::claim),
        holds_in_k6: measured.observed.holds_in_k6,
        reasons,
    }
}

/// Why an early look does not pass what has had no failure.
const NO_FAILURE_YET: &str = "Nothing had failed by then, which an outage in the rest of the run would change: only its planned \
                              end shows that nothing fails.";

/// Whether failures are asked about, and there was none.
fn has_seen_no_failure(measured: &MeasuredObjective<'_>) -> bool {
    let is_about_failures =
        matches!(measured.objective.measure, Measure::ErrorRate | Measure::CheckRate { .. });
    let is_none = |share: &ShareMeasurement| share.question.counts.most == 0;
    is_about_failures && measured.observed.share.as_ref().is_some_and(is_none)
}

/// The share that decides the objective, by the evidence or by the figures of an imported source.
fn share(measured: &MeasuredObjective<'_>, verdict: Verdict) -> Option<ClaimShare> {
    match (&measured.observed.stated, &measured.observed.share) {
        (Some(stated), _) => stated.share.clone(),
        (None, Some(share)) => {
            let blind_spot = share.blind_spot().filter(|_| verdict == Verdict::Pass);
            Some(ClaimShare { blind_spot, ..sentence::claim_share(measured, share) })
        }
        (None, None) => None,
    }
}

/// What the claims that pass do not exclude, said once for all of them.
pub(crate) fn blind_spot(claims: &[Claim]) -> Option<String> {
    let spots = claims.iter().filter_map(|claim| claim.share.as_ref()?.blind_spot);
    let BlindSpot { longer_than_s, rarer_than_s } = spots.reduce(BlindSpot::and)?;
    let [longer, rarer] = [longer_than_s, rarer_than_s].map(brief::length);
    Some(format!(
        "The run is too short to rule out outages longer than {longer} that occur less than once in {rarer}."
    ))
}

/// The observed value and what decides the objective, as a sentence.
fn observation(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> Reason {
    let observed = &measured.observed;
    if let Some(stated) = &observed.stated {
        let sentence = stated.sentence.clone();
        return if stated.share.is_some() {
            Reason::Observation(sentence)
        } else {
            Reason::Statement(sentence)
        };
    }
    let samples = |noun| brief::counted(observed.samples, noun);
    let users = with_virtual_users(facts, measured);
    if let Some(why) = &observed.unanswered {
        return Reason::Statement(format!("No verdict: {why}"));
    }
    let value = match &observed.value {
        Value::Missing(why) | Value::Unselected(why) => return Reason::Statement(why.clone()),
        Value::Infinite => format!("Infinite over {}", samples("observation")),
        Value::Finite(_) if measured.objective.measure.unit() == "1" && observed.share.is_some() => {
            samples("observation")
        }
        Value::Finite(value) => {
            let noun = if measured.is_about_load() { "observation" } else { "sample" };
            format!("{} over {}", quantity(measured, *value), samples(noun))
        }
    };
    if let Some(rate) = &observed.rate {
        return Reason::Observation(format!("{value}{users}: {}.", sentence::of_rate(measured, rate)));
    }
    match (&observed.share, observed.range) {
        (Some(share), _) => {
            Reason::Observation(format!("{value}{users}: {}.", sentence::of_share(measured, share)))
        }
        (None, Some(range)) if range.low < range.high && measured.verdict() != Verdict::Pass => {
            let [low, high] = [range.low, range.high].map(|value| quantity(measured, value));
            Reason::Statement(format!(
                "{value}{users}: between {low} and {high}, against {}.",
                bound(measured)
            ))
        }
        _ => {
            let result = if measured.verdict() == Verdict::Pass { "meets" } else { "violates" };
            Reason::Observation(format!("{value}{users} {result} {}.", bound(measured)))
        }
    }
}

/// The comparison and the bound: `< 50 ms`.
fn bound(measured: &MeasuredObjective<'_>) -> String {
    let sign = match measured.objective.comparison {
        Comparison::Below => "<",
        Comparison::AtMost => "<=",
        Comparison::Above => ">",
        Comparison::AtLeast => ">=",
        Comparison::Equal => "==",
        Comparison::NotEqual => "!=",
    };
    format!("{sign} {}", quantity(measured, measured.objective.bound))
}

fn quantity(measured: &MeasuredObjective<'_>, value: f64) -> String {
    match measured.objective.measure.unit() {
        "1" => brief::percent(value),
        _ => brief::quantity(value, &measured.observed.unit),
    }
}

/// ` with 10 virtual users`, for an objective on closed models alone.
fn with_virtual_users(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> String {
    if !measured.is_about_load() || facts.source.is_some() || has_offered_rate(facts, measured) {
        return String::new();
    }
    let scenarios = facts.workload.scenarios.iter().filter(|s| {
        let scope = evidence::Scope { scenario: Some(s.name.clone()), ..Default::default() };
        measured.applies_to(&scope, &facts.figures)
    });
    let users: u64 = scenarios.map(|s| u64::from(s.max_vus)).sum();
    format!(" with {}", brief::counted(users, "virtual user"))
}

/// Why a run that ended early cannot pass.
pub(crate) fn cut_short(facts: &Facts<'_>) -> String {
    format!("{}: an incomplete run cannot pass.", ended_early(facts))
}

/// Why a total of a run that ended early is not shown to be too low.
fn too_early(facts: &Facts<'_>) -> String {
    format!("{}: the rest of the run might have reached the limit.", ended_early(facts))
}

fn ended_early(facts: &Facts<'_>) -> String {
    let how = match facts.end.map(|end| &end.ending) {
        None if facts.is_looked_at => "is under way".to_owned(),
        None => "was killed".to_owned(),
        Some(Ending::Interrupted) => {
            format!("was {}", facts.ended_by_script.as_deref().unwrap_or("interrupted"))
        }
        Some(Ending::Stopped(objective)) => format!("was stopped by the plan's rule for {objective}"),
        Some(Ending::Aborted(why)) => format!("broke off ({why})"),
        Some(Ending::Completed) => "completed".to_owned(),
        Some(Ending::Decided) => "was decided".to_owned(),
    };
    format!("The run {how} {}", progress(facts))
}

/// What claims that pass beside many perturbed arrivals assume of the target, said once for all of them.
pub(crate) fn assumption(facts: &Facts<'_>, claims: &[Claim]) -> Option<String> {
    let assumes = |(measured, claim): &(&MeasuredObjective<'_>, &Claim)| {
        claim.verdict == Verdict::Pass && measured.observed.share.as_ref().is_some_and(sentence::assumes)
    };
    let names: Vec<&str> =
        facts.objectives.iter().zip(claims).filter(assumes).map(|(_, claim)| claim.name.as_str()).collect();
    let subject = match names.len() {
        0 => return None,
        count if count == claims.len() => "This".to_owned(),
        1 => format!("The pass of {}", names[0]),
        count @ 4.. => format!("Each of {count} passes"),
        _ => format!("Each pass of {}", names.join(", ")),
    };
    Some(format!("{subject} {}", sentence::ASSUMPTION))
}

/// That the run was ended early as the plan asks: by a stop rule, or because it was decided; none where it was not.
pub(crate) fn stopped_early(facts: &Facts<'_>) -> Option<String> {
    let at = || progress(facts);
    let sentence = |objective| format!("The plan's stop rule for {objective} ended the run {}.", at());
    let decided = || facts.decided().map(|when| format!("The run ended {when}."));
    facts.stopped_by().map(sentence).or_else(decided)
}

/// How far an incomplete run came.
fn progress(facts: &Facts<'_>) -> String {
    let planned = facts.workload.phases.last().map_or(0.0, |phase| phase.end.as_secs_f64());
    let planned = brief::significant(planned);
    match facts.stopped_at {
        Some(at) => format!("at {:.1} s of {planned} s", at.offset().as_secs_f64()),
        None => format!("after {} s of {planned} s", facts.seconds),
    }
}
