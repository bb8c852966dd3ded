//! S9 of two runs: others slowed down one of them alone.

use evidence::{Finding, Scope, Severity};

use crate::compare::known::{Known, Pair};
use crate::rule::named;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let finding = |severity, what: String| vec![named("S9").finding(severity, Scope::default(), what)];
    let [base, new] = pair.both();
    match (noise(base), noise(new)) {
        (Some(what), None) if new.facts.host.is_some() => {
            finding(Severity::Invalid, format!("The baseline's machine alone was noisy. {what}"))
        }
        (None, Some(what)) if base.facts.host.is_some() => {
            finding(Severity::Invalid, format!("The other run's machine alone was noisy. {what}"))
        }
        _ if pair.both().iter().any(|known| known.facts.host.is_none()) => finding(
            Severity::Info,
            "Whether others slowed a machine down is unknown: it was not watched on both sides.".to_owned(),
        ),
        _ => Vec::new(),
    }
}

/// The first thing that was noisy.
fn noise<'k>(known: &'k Known<'_>) -> Option<&'k str> {
    known.judgement.findings.iter().find(|finding| finding.rule == "S9").map(|f| f.what.as_str())
}
