//! C4: the machines, the generators or the environments of the targets differ.

mod targets;

use evidence::{Finding, Scope, Severity};

use crate::compare::judged_run::{JudgedRun, Pair, difference};
use crate::rule::rule_by_id;

/// Properties of a machine that change its speed. Its name does not.
const DECISIVE: [&str; 7] =
    ["cpu_model", "cores", "cores_usable", "memory_bytes", "kernel", "governor", "cpu_quota_cores"];
/// Properties of the generator that change its capacity.
const GENERATOR: [&str; 2] = ["version", "loops"];

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let manifests = pair.both().map(|run| run.manifest());
    let machine =
        |name: &&str| difference(name, manifests.map(|m| m.environment.get(*name).map(String::as_str)));
    let generator =
        |name: &&str| difference(name, manifests.map(|m| m.generator.get(*name).map(String::as_str)));
    let mut findings = Vec::new();
    let differences: Vec<String> = DECISIVE.iter().filter_map(machine).collect();
    if !differences.is_empty() {
        let what = format!("The machine of the generator differs: {}.", differences.join("; "));
        findings.push(rule_by_id("C4").finding(Severity::Invalid, Scope::default(), what));
    } else if let Some(host) = machine(&"hostname") {
        let what = format!("The generator ran on another machine of the same kind: {host}.");
        findings.push(rule_by_id("C4").finding(Severity::Caution, Scope::default(), what));
    }
    let mut differences: Vec<String> = GENERATOR.iter().filter_map(generator).collect();
    differences.extend(difference("imported from", pair.both().map(JudgedRun::imported_from)));
    if !differences.is_empty() {
        let what = format!("The generator differs: {}.", differences.join("; "));
        findings.push(rule_by_id("C4").finding(Severity::Caution, Scope::default(), what));
    }
    findings.extend(targets::findings(pair));
    findings
}
