//! C4: the machines, the generators or what stands behind the targets were not the same.

mod targets;

use evidence::{Finding, Scope, Severity};

use crate::compare::known::{Known, Pair, difference};
use crate::rule::named;

/// What of a machine changes how fast it is. Its name does not.
const DECISIVE: [&str; 7] =
    ["cpu_model", "cores", "cores_usable", "memory_bytes", "kernel", "governor", "cpu_quota_cores"];
/// What of the generator changes what it can do.
const GENERATOR: [&str; 2] = ["version", "loops"];

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let manifests = pair.both().map(|known| known.manifest());
    let machine =
        |name: &&str| difference(name, manifests.map(|m| m.environment.get(*name).map(String::as_str)));
    let generator =
        |name: &&str| difference(name, manifests.map(|m| m.generator.get(*name).map(String::as_str)));
    let mut findings = Vec::new();
    let differences: Vec<String> = DECISIVE.iter().filter_map(machine).collect();
    if !differences.is_empty() {
        let what = format!("The machine of the generator differs: {}.", differences.join("; "));
        findings.push(named("C4").finding(Severity::Invalid, Scope::default(), what));
    } else if let Some(host) = machine(&"hostname") {
        let what = format!("Two machines of one kind are not one machine: {host}.");
        findings.push(named("C4").finding(Severity::Caution, Scope::default(), what));
    }
    let mut differences: Vec<String> = GENERATOR.iter().filter_map(generator).collect();
    differences.extend(difference("imported from", pair.both().map(Known::imported_from)));
    if !differences.is_empty() {
        let what = format!("The generator differs: {}.", differences.join("; "));
        findings.push(named("C4").finding(Severity::Caution, Scope::default(), what));
    }
    findings.extend(targets::findings(pair));
    findings
}
