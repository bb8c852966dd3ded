//! C8: nothing differs between two runs, or more than one thing.

use std::collections::BTreeSet;

use evidence::{Finding, RuleId, Scope, Severity};

use crate::pair::{JudgedRun, Pair};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C8,
    title: "not-one-change",
    severity: Severity::Caution,
    tests: "What differs between the manifests: the program's digest, the load, the data, the seed, the \
            machine, the generator's version. More than one difference is a caution; none is reported as an \
            A/A run where one process served both, else as unknown: the same executable may run other programs.",
    affects: DIFFERENCES,
    why: "With two changes at once, the difference cannot be attributed to either.",
    next: "Change one thing at a time.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    let finding = |severity, what: &str| vec![RULE.finding(severity, Scope::default(), what.to_owned())];
    if pair.is_same_run() {
        return finding(Severity::Info, "Both are the same run: there are no differences.");
    }
    let changes = changes(base, new);
    match (changes.as_slice(), targets(base, new)) {
        ([], Sameness::Same(how)) => {
            let what = format!(
                "{how} on both sides, under the same load: this is an A/A run. Differences are noise."
            );
            finding(Severity::Info, &what)
        }
        ([], Sameness::SameExecutable) => finding(
            Severity::Info,
            "The same executable ran on both sides, under the same load. Whether its arguments, its folder, its environment \
             or its image were changed is unknown: differences may be noise or theirs.",
        ),
        ([], Sameness::Unknown) => finding(
            Severity::Info,
            "What was changed between the two is unknown: nothing that was recorded distinguishes their targets.",
        ),
        ([], Sameness::Other) => Vec::new(),
        ([one], Sameness::Same(_) | Sameness::SameExecutable | Sameness::Unknown) => {
            finding(Severity::Info, &format!("Of what was recorded, only {one} was changed."))
        }
        (several, sameness) => {
            let target = matches!(sameness, Sameness::Other).then_some("the target's program");
            let all: Vec<&str> = target.into_iter().chain(several.iter().copied()).collect();
            let what = format!(
                "More than one thing was changed: {}. Their effects cannot be separated.",
                all.join(", ")
            );
            finding(Severity::Caution, &what)
        }
    }
}

/// Whether nothing that was recorded differs between two runs of the same target.
pub(crate) fn is_aa(pair: &Pair<'_, '_>) -> bool {
    let [base, new] = pair.both();
    let is_same = matches!(targets(base, new), Sameness::Same(_));
    is_same && !pair.is_same_run() && changes(base, new).is_empty()
}

/// What differs besides the program under test.
fn changes(base: &JudgedRun<'_>, new: &JudgedRun<'_>) -> Vec<&'static str> {
    let (some, other) = (base.manifest(), new.manifest());
    let offered = |run: &JudgedRun<'_>| (run.workload.phases.clone(), run.workload.scenarios.clone());
    let machine = |m: &evidence::Manifest| {
        let mut machine = m.environment.clone();
        machine.remove("hostname");
        machine
    };
    let differs = [
        ("the load", offered(base) != offered(new)),
        ("the data", base.workload.data != new.workload.data),
        ("the seed", some.seed != other.seed),
        ("the machine", machine(some) != machine(other)),
        ("the generator's version", some.generator.get("version") != other.generator.get("version")),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(what, _)| what).collect()
}

/// Whether the targets were the same.
enum Sameness {
    /// One process served both.
    Same(&'static str),
    /// Another start of the same executable: an interpreter runs any program.
    SameExecutable,
    Other,
    Unknown,
}

/// A process is identified by its id and its start. The digest of a program's file distinguishes two programs, and does
/// not identify one.
fn targets(base: &JudgedRun<'_>, new: &JudgedRun<'_>) -> Sameness {
    let (some, other) = (&base.manifest().targets, &new.manifest().targets);
    let names: BTreeSet<&String> = some.keys().chain(other.keys()).collect();
    let (mut same, mut is_executable_alone) = (None, false);
    for name in names {
        let fact =
            |key: &str| [some, other].map(|targets| targets.get(name).and_then(|facts| facts.get(key)));
        match (fact("exe_sha256"), fact("started_unix_s"), fact("pid")) {
            ([Some(some), Some(other)], ..) if some != other => return Sameness::Other,
            (_, [Some(a), Some(b)], [Some(c), Some(d)]) if a == b && c == d => {
                same = same.or(Some("The same process ran"));
            }
            ([Some(_), Some(_)], ..) => is_executable_alone = true,
            _ => return Sameness::Unknown,
        }
    }
    match same {
        _ if is_executable_alone => Sameness::SameExecutable,
        Some(how) => Sameness::Same(how),
        None => Sameness::Unknown,
    }
}
