//! S9 of two runs: other processes slowed down only one of them.

use evidence::{Finding, RuleId, Scope, Severity};

use super::RULE;
use crate::pair::{JudgedRun, Pair};

pub(super) fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let finding = |severity, what: String| vec![RULE.finding(severity, Scope::default(), what)];
    let [base, new] = pair.both();
    match (noise(base), noise(new)) {
        (Some(_), Some(_)) => finding(
            Severity::Caution,
            "Both machines were noisy: other work may be the cause of a difference.".to_owned(),
        ),
        (Some(what), None) if new.facts.host.is_some() => one_sided(base, what),
        (None, Some(what)) if base.facts.host.is_some() => one_sided(new, what),
        _ if pair.both().iter().any(|run| run.facts.host.is_none()) => finding(
            Severity::Info,
            "Whether other processes slowed a machine down is unknown: it was not observed on both sides."
                .to_owned(),
        ),
        _ => Vec::new(),
    }
}

fn one_sided(noisy: &JudgedRun<'_>, noise: &str) -> Vec<Finding> {
    let what = format!(
        "Only the machine of `{}` was noisy: other work may be the cause of a difference. {noise}",
        noisy.name
    );
    vec![RULE.finding(Severity::Inconclusive, Scope::default(), what)]
}

/// The first finding of noise.
fn noise<'k>(run: &'k JudgedRun<'_>) -> Option<&'k str> {
    run.judgement.findings.iter().find(|finding| finding.rule == RuleId::S9).map(|f| f.what.as_str())
}
