//! C1: the error rates of two runs differ.

use evidence::{Finding, Missing, RuleId, Scope, Severity};
use stats::Proportion;

use crate::numbers;
use crate::pair::{EndpointPair, JudgedRun, Pair};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule, with_figures};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C1,
    title: "error-rates-differ",
    severity: Severity::Invalid,
    tests: "For each endpoint and phase that two runs have in common: shares of failed and dropped arrivals \
            more than 0.1 percentage points apart, where the test of two shares gives a probability below \
            0.001. An imported run that does not know how requests ended is reported as unknown.",
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

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let does_not_know = |run: &&JudgedRun<'_>| run.facts.tables.missing.contains(&Missing::Outcomes);
    if let Some(run) = pair.both().into_iter().find(does_not_know) {
        let source = run.imported_from().unwrap_or("source");
        let what = format!(
            "Whether error rates differ is unknown: the {source} does not record how requests ended."
        );
        return vec![RULE.finding(Severity::Info, Scope::default(), what)];
    }
    pair.endpoints().filter_map(|endpoint| finding(&endpoint)).collect()
}

fn finding(endpoint: &EndpointPair<'_>) -> Option<Finding> {
    let EndpointPair { base, new } = endpoint;
    let [before, after] =
        [base, new].map(|e| Proportion { part: e.failed_by_target(), whole: e.attempted() });
    let [share, new_share] = [before, after].map(|p| p.part as f64 / p.whole.max(1) as f64);
    let chance = stats::two_shares(before, after);
    if chance >= ERRORS_CHANCE || (share - new_share).abs() <= ERRORS_APART {
        return None;
    }
    let what = format!(
        "{}: {} of {} failed against {} of {}. Latency of successes is not comparable.",
        base.key.describe(),
        numbers::percent(share),
        numbers::count(before.whole),
        numbers::percent(new_share),
        numbers::count(after.whole),
    );
    let figures = [
        ("failed, baseline", share * 100.0, "%"),
        ("failed", new_share * 100.0, "%"),
        ("chance", chance, "1"),
        ("threshold", ERRORS_APART * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Invalid, base.key.scope(), what), &figures))
}
