//! T2 of two runs: where it is not known whether either had settled.

use std::collections::BTreeSet;

use evidence::{Finding, Scope, Severity};
use stats::NotSteady;
use stats::steady::MIN_STEADY_S;

use crate::compare::known::Pair;
use crate::facts::Unsettled;
use crate::rule::named;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let finding = |what: String| named("T2").finding(Severity::Info, Scope::default(), what);
    let mut findings = Vec::new();
    let short: BTreeSet<&str> = pair
        .both()
        .iter()
        .flat_map(|known| &known.facts.courses)
        .filter(|course| matches!(course.state, Err(Unsettled::Series("", NotSteady::TooShort { .. }))))
        .map(|course| &*course.place.phase)
        .collect();
    if !short.is_empty() {
        let phases: Vec<String> = short.iter().map(|phase| format!("`{phase}`")).collect();
        findings.push(finding(format!(
            "Whether anything was steady is unknown in phases shorter than {MIN_STEADY_S} s: {}.",
            phases.join(", ")
        )));
    }
    if let Some(source) = pair.both().iter().find_map(|known| known.facts.source) {
        findings.push(finding(format!(
            "Whether anything was steady is unknown: what load {} was to offer, and when, is not in its files.",
            source.tool
        )));
    }
    findings
}
