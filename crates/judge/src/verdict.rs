//! The verdict on the whole run, and its exit code.

use evidence::{Claim, Finding, Judgement, Key, Missing, Severity, Verdict};
use figures::{Figures, Row};

use crate::claims;
use crate::facts::Facts;
use crate::rule::AffectedClaims;
use crate::rules::functional_failure_phase::most_frequent_failure;
use crate::rules::iterations_threw::Exceptions;
use crate::rules::{self, RULES_VERSION, partial_pass};
use figures::number::brief;

/// The exit code for a verdict: 0 PASS or MEASURED, 3 FAIL, 4 INCONCLUSIVE, 5 INVALID.
pub fn exit_code(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass | Verdict::Measured => 0,
        Verdict::Fail => 3,
        Verdict::Inconclusive => 4,
        Verdict::Invalid => 5,
    }
}

/// The judgement: the verdict on the whole, the claims in the plan's order, the findings with the gravest first.
pub(crate) fn judgement(facts: &Facts<'_>, claims: Vec<Claim>, mut findings: Vec<Finding>) -> Judgement {
    findings.sort_by_key(|finding| (finding.severity, finding.rule));
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
    let open = without_verdict(claims.len() - answered);
    for (verdict, result) in [
        (Verdict::Fail, "violated"),
        (Verdict::Invalid, "not answered by this evidence"),
        (Verdict::Inconclusive, "not decided by this evidence"),
    ] {
        let names: Vec<&str> =
            claims.iter().filter(|c| c.verdict == verdict).map(|c| c.name.as_str()).collect();
        if verdict == Verdict::Inconclusive && !names.is_empty() && !facts.can_pass() {
            return (verdict, claims::cut_short(facts));
        }
        if !names.is_empty() {
            let counted = match (result.strip_prefix("not "), noun) {
                (Some(result), Noun(noun)) if names.len() == answered && answered > 1 => {
                    format!("None of the {answered} {noun}s is {result}")
                }
                _ => format!("{} {result}", noun.counted(names.len(), answered)),
            };
            let because = format!("{counted}: {}.", names.join(", "));
            let sentences = [
                Some(because),
                open,
                partial_pass::sentence(claims, verdict),
                claims::blind_spot(claims),
                claims::stopped_early(facts),
            ];
            return (verdict, joined(sentences));
        }
    }
    if !facts.can_pass() {
        return (Verdict::Inconclusive, claims::cut_short(facts));
    }
    let met = format!("{} met.", noun.counted(answered, answered));
    let sentences = [Some(met), open, claims::blind_spot(claims), claims::stopped_early(facts)];
    (Verdict::Pass, joined(sentences))
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
    fn counted(self, some: usize, all: usize) -> String {
        let Noun(noun) = self;
        match (some, all) {
            (1, 1) => format!("The {noun} is"),
            (some, all) if some == all => format!("All {all} {noun}s are"),
            (1, all) => format!("1 of {all} {noun}s is"),
            (some, all) => format!("{some} of {all} {noun}s are"),
        }
    }
}

/// That so many claims have a number alone; none where there is no such claim.
fn without_verdict(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 more has a number and no verdict.".to_owned()),
        many => Some(format!("{many} more have a number and no verdict.")),
    }
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
