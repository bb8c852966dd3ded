//! The verdict on the whole run, and its exit code.

mod next_step;

use evidence::{Claim, Finding, Judgement, Key, Missing, RuleId, Severity, Verdict};
use figures::{Figures, Row};

use crate::claims;
use crate::facts::{Facts, MeasuredObjective};
use crate::rule::AffectedClaims;
use crate::rules::functional_failure_phase::most_frequent_failure;
use crate::rules::iterations_threw::Exceptions;
use crate::rules::{self, RULES_VERSION, partial_pass};
use figures::number::{INFINITE, brief};

/// Of more violated claims only the names are in the sentence beside the verdict.
const MAX_EXPLAINED: usize = 3;

/// The exit code for a verdict: 0 PASS or MEASURED, 3 FAIL, 4 INCONCLUSIVE, 5 INVALID.
pub fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::Measured => 0,
        Verdict::Fail => 3,
        Verdict::Inconclusive => 4,
        Verdict::Invalid => 5,
    }
}

/// The judgement: the verdict on the whole, the claims in the plan's order, the findings with the gravest first. A lost worker
/// comes before all that follows from it.
pub(crate) fn judgement(facts: &Facts<'_>, claims: Vec<Claim>, mut findings: Vec<Finding>) -> Judgement {
    findings.sort_by_key(|finding| (finding.rule != RuleId::W1, finding.severity, finding.rule));
    let (verdict, because) = whole(facts, &claims, &findings);
    let assumes = claims::assumption(facts, &claims);
    Judgement { rules_version: RULES_VERSION, verdict, because, assumes, claims, findings }
}

fn whole(facts: &Facts<'_>, claims: &[Claim], findings: &[Finding]) -> (Verdict, String) {
    if let Some(finding) = invalidating(findings) {
        return (Verdict::Invalid, format!("{} {}: {}", finding.rule, finding.title, finding.what));
    }
    let has_violated = claims.iter().any(|claim| claim.verdict == Verdict::Fail);
    if let Some(count) = facts.unsent_requests.filter(|_| !has_violated) {
        let count = brief::counted(count, "request");
        return (Verdict::Fail, format!("Nothing succeeded: none of {count} of the script could be sent."));
    }
    if let Some(because) = nothing_succeeded(&facts.figures).filter(|_| !has_violated && !facts.has_unread())
    {
        return (Verdict::Fail, because);
    }
    let answered = claims.iter().filter(|claim| claim.verdict != Verdict::Measured).count();
    if answered == 0 {
        let nothing =
            if claims.is_empty() { "No objective was set" } else { "No threshold can have a verdict" };
        return match facts.is_complete() {
            false => (Verdict::Inconclusive, format!("{nothing}. {}", claims::cut_short(facts))),
            true => {
                let nothing = Some(format!("{nothing}: numbers and cautions, no verdict."));
                (Verdict::Measured, joined([never_sent(&facts.figures), nothing]))
            }
        };
    }
    let noun = noun(claims);
    let open = without_verdict(claims);
    for verdict in [Verdict::Fail, Verdict::Invalid, Verdict::Inconclusive] {
        let names = named(facts, claims, verdict);
        if verdict == Verdict::Inconclusive && !names.is_empty() && !facts.can_pass() {
            return (verdict, claims::cut_short(facts));
        }
        if !names.is_empty() {
            let because =
                format!("{}: {}.", noun.with_result(verdict, names.len(), answered), names.join(", "));
            let sentences = [
                Some(because),
                open,
                partial_pass::sentence(claims, verdict),
                claims::blind_spot(claims),
                claims::stopped_early(facts),
                next_step::of(facts, claims, findings, verdict),
            ];
            return (verdict, joined(sentences));
        }
    }
    if !facts.can_pass() {
        return (Verdict::Inconclusive, claims::cut_short(facts));
    }
    let met = format!("{}.", noun.with_result(Verdict::Pass, answered, answered));
    let sentences = [Some(met), open, claims::blind_spot(claims), claims::stopped_early(facts)];
    (Verdict::Pass, joined(sentences))
}

/// The names of the claims with this verdict; of a few that are violated with what they ask for and what was measured.
fn named(facts: &Facts<'_>, claims: &[Claim], verdict: Verdict) -> Vec<String> {
    let its = || facts.objectives.iter().zip(claims).filter(|(_, claim)| claim.verdict == verdict);
    if verdict != Verdict::Fail || its().count() > MAX_EXPLAINED {
        return its().map(|(_, claim)| claim.name.clone()).collect();
    }
    let explained = |(measured, claim): (&MeasuredObjective<'_>, &Claim)| {
        let value = match claim.observed.value {
            None => INFINITE.to_owned(),
            Some(value) if measured.objective.measure.unit() == "1" => brief::percent(value),
            Some(value) => brief::quantity(value, &claim.observed.unit),
        };
        let asked = if claim.name == claim.text { String::new() } else { format!("{}, ", claim.text) };
        let dropped = measured.observed.share.as_ref().map_or(0, |share| share.dropped);
        let dropped = match dropped {
            0 => String::new(),
            dropped => format!(" with {} arrivals dropped at the VU limit", brief::count(dropped)),
        };
        format!("{} ({asked}measured {value}{dropped})", claim.name)
    };
    its().map(explained).collect()
}

fn joined<const N: usize>(sentences: [Option<String>; N]) -> String {
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What the claims of a run are called together.
#[derive(Clone, Copy)]
struct Noun(&'static str);

/// Thresholds of a script, objectives, or both.
fn noun(claims: &[Claim]) -> Noun {
    let thresholds = claims.iter().filter(|claim| claim.holds_in_k6.is_some()).count();
    match thresholds {
        0 => Noun("objective"),
        all if all == claims.len() => Noun("threshold"),
        _ => Noun("claim"),
    }
}

impl Noun {
    /// How many of all have this verdict: `1 of 3 objectives is violated`, `None of the 3 objectives is decided`.
    fn with_result(self, verdict: Verdict, some: usize, all: usize) -> String {
        let Noun(noun) = self;
        let [one, many, none] = match verdict {
            Verdict::Pass | Verdict::Measured => ["is met", "are met", ""],
            Verdict::Fail => ["is violated", "are violated", ""],
            Verdict::Inconclusive => ["is not decided", "are not decided", "is decided"],
            Verdict::Invalid => ["has no valid result", "have no valid result", "has a valid result"],
        };
        match (some, all) {
            (1, 1) => format!("The {noun} {one}"),
            (some, all) if some == all && !none.is_empty() => format!("None of the {all} {noun}s {none}"),
            (some, all) if some == all => format!("All {all} {noun}s {many}"),
            (1, all) => format!("1 of {all} {noun}s {one}"),
            (some, all) => format!("{some} of {all} {noun}s {many}"),
        }
    }
}

/// Which claims have a number alone; none where there is no such claim.
fn without_verdict(claims: &[Claim]) -> Option<String> {
    let open = claims.iter().filter(|claim| claim.verdict == Verdict::Measured);
    let names: Vec<&str> = open.map(|claim| claim.name.as_str()).collect();
    let have = if names.len() == 1 { "has" } else { "have" };
    (!names.is_empty()).then(|| format!("{} {have} a number and no verdict.", names.join(", ")))
}

/// The finding that invalidates the whole run: evidence that was changed, or counts that do not add up.
fn invalidating(findings: &[Finding]) -> Option<&Finding> {
    let is_about_the_run = |f: &&Finding| rules::by_id(f.rule).affected == AffectedClaims::Everything;
    findings.iter().filter(|f| f.severity == Severity::Invalid).find(is_about_the_run)
}

/// That nothing succeeded, if so: that is a failure whatever was asked. Neither did a script whose every iteration threw.
/// How many arrivals were dropped, where that is more than 1 %: what is measured is of the others.
fn never_sent(figures: &Figures) -> Option<String> {
    let of_load = figures.scenario_phases.iter().filter(|row| !Key::is_beside_load(&row.key.phase));
    let (scheduled, started) =
        of_load.fold((0, 0), |(scheduled, started), row| (scheduled + row.scheduled, started + row.started));
    let dropped = scheduled.saturating_sub(started);
    (dropped * 100 > scheduled).then(|| {
        format!(
            "{} of {} {} dropped and never sent: the times are those of the others.",
            brief::count(dropped),
            brief::counted(scheduled, "arrival"),
            brief::were(dropped)
        )
    })
}

pub(crate) fn nothing_succeeded(figures: &Figures) -> Option<String> {
    let all = figures.endpoints().filter(|endpoint| !Key::is_beside_load(&endpoint.key.phase));
    let of_load: Vec<&Row> = all.collect();
    let sum = |count: fn(&Row) -> u64| of_load.iter().map(|endpoint| count(endpoint)).sum::<u64>();
    let (ok, failed) = (sum(|endpoint| endpoint.ok.count()), sum(Row::failed_by_target));
    let is_known = !figures.missing.contains(&Missing::Outcomes);
    let thrown = Exceptions::of(figures);
    if is_known && ok == 0 && failed > 0 {
        return Some(format!(
            "Nothing succeeded: all of {} failed or were dropped; {}.",
            brief::counted(failed, "request"),
            most_frequent_failure(of_load)
        ));
    }
    (thrown.all() > 0 && thrown.all() == thrown.done).then(|| {
        format!(
            "Nothing succeeded: all of {} threw; {}.",
            brief::counted(thrown.done, "iteration"),
            thrown.in_words()
        )
    })
}
