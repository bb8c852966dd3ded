//! T2 of two runs: phases in which it is unknown whether either reached steady state.

use std::collections::BTreeSet;

use evidence::{Finding, Scope, Severity};
use stats::steady::MIN_STEADY_S;

use super::RULE;
use crate::facts::NotSteadyReason;
use crate::pair::Pair;

pub(super) fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let finding = |what: String| RULE.finding(Severity::Info, Scope::default(), what);
    let mut findings = Vec::new();
    let short: BTreeSet<&str> = pair
        .both()
        .iter()
        .flat_map(|run| &run.facts.steady_states)
        .filter(|analysis| matches!(analysis.state, Err(NotSteadyReason::ShortPhase)))
        .map(|analysis| &*analysis.key.phase)
        .collect();
    if !short.is_empty() {
        let phases: Vec<String> = short.iter().map(|phase| format!("`{phase}`")).collect();
        findings.push(finding(format!(
            "Whether endpoints were steady is unknown in phases shorter than {MIN_STEADY_S} s: {}.",
            phases.join(", ")
        )));
    }
    if let Some(source) = pair.both().iter().find_map(|run| run.facts.source) {
        findings.push(finding(format!(
            "Whether endpoints were steady is unknown: the load planned for {} is not in its files.",
            source.tool
        )));
    }
    findings
}
