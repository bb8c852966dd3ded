//! S4: too few arrivals, or too clustered ones, to decide a share.

use evidence::{Finding, RuleId, Severity};

use crate::facts::{Facts, MeasuredObjective};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use crate::shares::{BeyondCounts, ShareAnswer, ShareQuestion};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::S4,
    title: "too-few-tail-samples",
    severity: Severity::Inconclusive,
    tests: "Objectives on quantiles, error rates and checks: the share that the objective allows is \
            between the one-sided 95 % limits of the share that misses the bound. The limits are computed \
            with the effective sample size, which follows from how much the share varies between batches: \
            of a sixth of a run below a minute, then 10 s, and a twentieth of a run longer than 200 s. With none beyond \
            the bound, or fewer than 6 batches, the arrivals of 0.1 s (3 at least) count as one in an objective on a \
            quantile, ten in others. Where what misses the bound comes and goes over more than a fifteenth of the run, the \
            finding says that the run is too short for changes so slow.",
    affects: "that objective",
    why: "The sample is too small: the next run may be on the other side of what is allowed.",
    next: "Run longer, offer a higher rate, or state a bound that is farther away.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.is_looked_at {
        // The rest of the run is more of what is missing.
        return Vec::new();
    }
    facts.objectives.iter().filter_map(finding).collect()
}

fn finding(measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let share = measured.observed.share.as_ref()?;
    let decision = share.decision;
    if decision.answer != ShareAnswer::UndecidedBySample {
        return None;
    }
    let slow = share.question.slow_changes_s();
    let mut what = format!(
        "Between {} and {} of {} {}s miss the bound (limits at {}, effective sample size {}); {} may. {}",
        brief::percent(decision.limits.lower),
        brief::percent(decision.limits.upper),
        brief::count(share.question.counts.arrivals),
        measured.thing(),
        brief::percent(share.question.confidence),
        brief::sample_size(decision.effective_sample),
        brief::percent(share.question.allowed),
        enough(&share.question, measured.thing())
    );
    if let Some(slow) = slow {
        what.push_str(&format!(
            " What misses it comes and goes over {}, at least: the run is too short for changes so slow.",
            brief::length(slow)
        ));
    }
    let figures = [
        ("effective sample", decision.effective_sample, "1"),
        ("design effect", decision.design_effect, "1"),
        ("threshold", share.question.allowed * 100.0, "%"),
    ];
    let slow = slow.map(|slow| ("relaxation time", slow, "s"));
    let figures: Vec<_> = figures.into_iter().chain(slow).collect();
    Some(with_figures(RULE.finding(Severity::Inconclusive, measured.scope(), what), &figures))
}

/// Whether the observed share is allowed, and what is unknown would be too much.
fn is_open_without_more(question: &ShareQuestion) -> bool {
    let BeyondCounts { arrivals, most, observed, .. } = question.counts;
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    share(observed.part, observed.whole) <= question.allowed && share(most, arrivals) > question.allowed
}

/// How many would be enough.
fn enough(question: &ShareQuestion, thing: &str) -> String {
    match question.arrivals_needed() {
        Some(arrivals) => {
            format!("With the same shares, {} {thing}s would decide it.", brief::count(arrivals))
        }
        None if is_open_without_more(question) => {
            format!(
                "A longer run would not decide it: for too many {thing}s it is not known whether they miss the bound."
            )
        }
        None => "The observed share is too close to the allowed one.".to_owned(),
    }
}
