//! S4: too few arrivals, or too clustered ones, to decide a share.

use evidence::{Finding, RuleId, Severity};

use crate::facts::{Facts, MeasuredObjective};
use crate::numbers;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use crate::shares::{BeyondCounts, ShareAnswer, ShareQuestion};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::S4,
    title: "too-few-tail-samples",
    severity: Severity::Inconclusive,
    tests: "Objectives on quantiles, error rates, checks and goodput: what they allow is between the one-sided 95 % \
            limits of the share beyond the bound, on the effective sample. Arrivals cluster as their shares in \
            batches of 10 s show; by 10 to one where nothing shows it, as without any failure or in fewer than 6 \
            batches.",
    affects: "that objective",
    why: "The next run has another share, which may be on the other side of what is allowed.",
    next: "Run longer, offer more, or state a bound that is farther away.",
    affected: AffectedClaims::Named,
    check: Check::Run(check),
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts.objectives.iter().filter_map(finding).collect()
}

fn finding(measured: &MeasuredObjective<'_>) -> Option<Finding> {
    let share = measured.observed.share.as_ref()?;
    let decision = share.decision;
    if decision.answer != ShareAnswer::UndecidedBySample {
        return None;
    }
    let what = format!(
        "{} {}s act like {}: {} to {} may be on the wrong side of the bound, {} are allowed. {}",
        numbers::count(share.question.counts.arrivals),
        measured.thing(),
        numbers::independent(decision.effective_sample, "one"),
        numbers::percent(decision.limits.lower),
        numbers::percent(decision.limits.upper),
        numbers::percent(share.question.allowed),
        enough(&share.question, measured.thing())
    );
    let figures = [
        ("effective sample", decision.effective_sample, "1"),
        ("design effect", decision.design_effect, "1"),
        ("threshold", share.question.allowed * 100.0, "%"),
    ];
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
            format!("With the same shares, {} {thing}s would decide it.", numbers::count(arrivals))
        }
        None if is_open_without_more(question) => {
            format!(
                "More of the same would not decide it: of too many {thing}s it is not known on which side they are."
            )
        }
        None => "What is observed is too close to what is allowed.".to_owned(),
    }
}
