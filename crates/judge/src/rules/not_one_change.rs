//! C8: nothing differs between two runs, or more than one thing.

mod identity;

use evidence::{Finding, RuleId, Scope, Severity};

use crate::pair::{JudgedRun, Pair};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule};
use identity::Identities;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C8,
    title: "not-one-change",
    severity: Severity::Caution,
    tests: "What differs between the manifests: the target, the load, the data, the seed, the machine, the \
            generator's version. A target is identified by the SHA-256 of its program (of an interpreter also of \
            the file that it runs), its arguments, its folder, the names of its environment variables and the image \
            of its container; a process by its id and its start. More than one difference is a caution. If \
            nothing differs, it is reported as an A/A run; if some of these are unknown, they are named. If the programs \
            differ, folders and containers are not compared.",
    affects: DIFFERENCES,
    why: "With two changes at once, the difference cannot be attributed to either.",
    next: "Change one thing at a time.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    let finding = |severity, what: String| vec![RULE.finding(severity, Scope::default(), what)];
    let targets = targets(pair);
    let mut changed = targets.changed.clone();
    changed.extend(changes(base, new).into_iter().map(str::to_owned));
    match changed.as_slice() {
        [] => finding(Severity::Info, unchanged(&targets)),
        [one] => finding(
            Severity::Info,
            format!("Of what was recorded, one thing was changed: {one}.{}", unknown(&targets)),
        ),
        several => finding(
            Severity::Caution,
            format!(
                "More than one thing was changed: {}. Their effects cannot be separated.{}",
                several.join(", "),
                unknown(&targets)
            ),
        ),
    }
}

/// What nothing that differs means, in a sentence.
fn unchanged(targets: &Identities) -> String {
    if targets.are_the_same_process() {
        return "The same process ran on both sides, under the same load: this is an A/A run. Differences are noise."
            .to_owned();
    }
    if targets.are_equal() {
        return "Program, arguments, folder, names of environment variables and container of the target are equal on both \
                sides, under the same load: this is an A/A run. Differences are noise, unless values of environment \
                variables or files that the program reads were changed: they are not recorded."
            .to_owned();
    }
    let moved = targets.moved.join("; ");
    if targets.equal + targets.same_process == 0 {
        let but = if moved.is_empty() { moved } else { format!(" but their addresses: {moved}") };
        return format!(
            "What was changed between the two is unknown: nothing that was recorded distinguishes their targets{but}."
        );
    }
    let only = if moved.is_empty() { moved } else { format!(" Their addresses differ: {moved}.") };
    format!(
        "Nothing that was recorded differs, and the load is the same. Differences may be noise, or come from what is \
         unknown: {}.{only}",
        targets.unknown.join("; ")
    )
}

/// What is not known of the targets, as a sentence of its own.
fn unknown(targets: &Identities) -> String {
    match targets.unknown.as_slice() {
        [] => String::new(),
        parts => format!(" Unknown: {}.", parts.join("; ")),
    }
}

/// Whether nothing that was recorded differs between two runs of the same target.
pub(crate) fn is_aa(pair: &Pair<'_, '_>) -> bool {
    let [base, new] = pair.both();
    targets(pair).are_equal() && changes(base, new).is_empty()
}

fn targets(pair: &Pair<'_, '_>) -> Identities {
    let letter = (b'A'..=b'Z').nth(pair.side).map_or('?', char::from);
    Identities::of(pair.both().map(|run| &run.manifest().targets), letter)
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
