//! C1: the error rates of two runs differ.

use evidence::{Finding, Missing, Scope, Severity};
use stats::Proportion;

use crate::compare::judged_run::{EndpointPair, JudgedRun, Pair};
use crate::numbers;
use crate::rule::{rule_by_id, with_figures};
use crate::thresholds::{ERRORS_APART, ERRORS_CHANCE};

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let does_not_know = |run: &&JudgedRun<'_>| run.facts.tables.missing.contains(&Missing::Outcomes);
    if let Some(run) = pair.both().into_iter().find(does_not_know) {
        let source = run.imported_from().unwrap_or("source");
        let what = format!(
            "Whether error rates differ is unknown: the {source} does not record how requests ended."
        );
        return vec![rule_by_id("C1").finding(Severity::Info, Scope::default(), what)];
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
    Some(with_figures(rule_by_id("C1").finding(Severity::Invalid, base.key.scope(), what), &figures))
}
