//! C1: the error rates of two runs differ.

use evidence::run::{ReadError, select};
use evidence::{Finding, Key, Metric, Missing, Outcome, RuleId, Scope, Severity};
use figures::RowKey;
use stats::Proportion;

use crate::measure::times::BATCH_S;
use crate::pair::{EndpointPair, JudgedRun, Pair};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C1,
    title: "error-rates-differ",
    severity: Severity::Invalid,
    tests: "The error rates of two runs differ by more than chance: at an endpoint and in a phase that both have, the shares of \
            failed and dropped arrivals are more than 0.1 percentage points apart, and Fisher's exact test gives a probability \
            below 0.001. The test takes as many requests as act independently in batches of 10 s. An imported run that does \
            not know how requests ended is reported as unknown.",
    affects: DIFFERENCES,
    why: "The run with more failures has fewer successes and leaves out the slow ones: its latency looks \
          better. The error rate is the result.",
    next: "Fix what fails, and run both again.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

/// Failed shares differ when they are further apart than this …
pub(crate) const ERRORS_APART: f64 = 0.001;
/// … and the test gives a smaller probability for chance alone.
pub(crate) const ERRORS_CHANCE: f64 = 0.001;

/// The confidence of the upper limit of the design effect.
const EFFECT_CONFIDENCE: f64 = 0.8;

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let does_not_know = |run: &&JudgedRun<'_>| run.facts.figures.missing.contains(&Missing::Outcomes);
    if let Some(run) = pair.both().into_iter().find(does_not_know) {
        let source = run.imported_from().unwrap_or("source");
        let what = format!(
            "Whether error rates differ is unknown: the {source} does not record how requests ended."
        );
        return vec![RULE.finding(Severity::Info, Scope::default(), what)];
    }
    pair.endpoints().filter_map(|endpoint| finding(pair, &endpoint)).collect()
}

/// The share of failures with as many observations as act independently: an outage of seconds fails many requests, and is
/// one event.
fn effective(run: &JudgedRun<'_>, key: &RowKey, seen: Proportion) -> Proportion {
    let effect = batches(run, key).ok().and_then(|b| stats::design_effect_of_shares(&b, EFFECT_CONFIDENCE));
    let divided = |count: u64| (count as f64 / effect.unwrap_or(1.0)).round() as u64;
    Proportion { part: divided(seen.part), whole: divided(seen.whole) }
}

/// Failures of all requests that ended, in batches of [`BATCH_S`].
fn batches(run: &JudgedRun<'_>, endpoint: &RowKey) -> Result<Vec<Proportion>, ReadError> {
    let empty = Proportion { part: 0, whole: 0 };
    let mut batches = vec![empty; run.facts.seconds.div_ceil(BATCH_S) as usize];
    let is_its = |key: &Key| RowKey::from(key) == *endpoint;
    for (id, key) in select(run.run.keys(), Metric::ResponseTime, is_its) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        for (second, times) in run.run.histograms(id, run.run.whole())? {
            let Some(batch) = batches.get_mut((second / BATCH_S) as usize) else { continue };
            match outcome {
                Outcome::Ok => batch.whole += times.count(),
                outcome if outcome.is_failure() => {
                    batch.whole += times.count();
                    batch.part += times.count();
                }
                _ => {}
            }
        }
    }
    Ok(batches)
}

fn finding(pair: &Pair<'_, '_>, endpoint: &EndpointPair<'_>) -> Option<Finding> {
    let EndpointPair { base, new } = endpoint;
    let [before, after] =
        [base, new].map(|e| Proportion { part: e.failed_by_target(), whole: e.attempted() });
    let [share, new_share] = [before, after].map(|p| p.part as f64 / p.whole.max(1) as f64);
    if (share - new_share).abs() <= ERRORS_APART {
        return None;
    }
    let chance =
        stats::fisher(effective(pair.base, &base.key, before), effective(pair.new, &base.key, after));
    if chance >= ERRORS_CHANCE {
        return None;
    }
    let what = format!(
        "{}: {} of {} failed against {} of {}. Latency of successes is not comparable.",
        base.key.describe(),
        brief::percent(share),
        brief::count(before.whole),
        brief::percent(new_share),
        brief::count(after.whole),
    );
    let figures = [
        ("failed, baseline", share * 100.0, "%"),
        ("failed", new_share * 100.0, "%"),
        ("chance", chance, "1"),
        ("threshold", ERRORS_APART * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Invalid, base.key.scope(), what), &figures))
}
