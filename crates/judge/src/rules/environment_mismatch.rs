//! C4: the machines, the generators or the environments of the targets differ.

mod targets;

use evidence::{Finding, RuleId, Scope, Severity};

use crate::pair::{JudgedRun, Pair, difference};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C4,
    title: "environment-mismatch",
    severity: Severity::Invalid,
    tests: "Processor model, cores, CPU quota, memory, kernel or frequency governor of the generator's machine \
            differ. Another machine of the same kind, or another version or number of loops of the generator, \
            is a caution. For targets: another version or other settings of their database, or other limits of \
            their container or of their database's connections, are invalid where both runs recorded them; a \
            target at another host is a caution. Flags and log levels are not in a run file.",
    affects: DIFFERENCES,
    why: "A faster machine makes a faster run of the same program.",
    next: "Run both on the same machine, one after the other, with the same generator.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

/// Properties of a machine that change its speed. Its name does not.
const DECISIVE: [&str; 7] =
    ["cpu_model", "cores", "cores_usable", "memory_bytes", "kernel", "governor", "cpu_quota_cores"];
/// Properties of the generator that change its capacity.
const GENERATOR: [&str; 2] = ["version", "loops"];

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let manifests = pair.both().map(|run| run.manifest());
    let machine =
        |name: &&str| difference(name, manifests.map(|m| m.environment.get(*name).map(String::as_str)));
    let generator =
        |name: &&str| difference(name, manifests.map(|m| m.generator.get(*name).map(String::as_str)));
    let mut findings = Vec::new();
    let differences: Vec<String> = DECISIVE.iter().filter_map(machine).collect();
    if !differences.is_empty() {
        let what = format!("The machine of the generator differs: {}.", differences.join("; "));
        findings.push(RULE.finding(Severity::Invalid, Scope::default(), what));
    } else if let Some(host) = machine(&"hostname") {
        let what = format!("The generator ran on another machine of the same kind: {host}.");
        findings.push(RULE.finding(Severity::Caution, Scope::default(), what));
    }
    let mut differences: Vec<String> = GENERATOR.iter().filter_map(generator).collect();
    differences.extend(difference("imported from", pair.both().map(JudgedRun::imported_from)));
    if !differences.is_empty() {
        let what = format!("The generator differs: {}.", differences.join("; "));
        findings.push(RULE.finding(Severity::Caution, Scope::default(), what));
    }
    findings.extend(targets::findings(pair));
    findings
}
