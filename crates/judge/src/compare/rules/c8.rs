//! C8: nothing was changed, or more than one thing.

use std::collections::BTreeSet;

use evidence::{Finding, Scope, Severity};

use crate::compare::known::{Known, Pair};
use crate::rule::named;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    let finding =
        |severity, what: &str| vec![named("C8").finding(severity, Scope::default(), what.to_owned())];
    if is_same_run(base, new) {
        return finding(
            Severity::Info,
            "Both are the same run: no difference can show, and none means anything.",
        );
    }
    let changes = changes(base, new);
    match (changes.as_slice(), targets(base, new)) {
        ([], Sameness::Same(how)) => {
            let what = format!(
                "{how} on both sides, under the same load: this is an A/A run. What differs is noise."
            );
            finding(Severity::Info, &what)
        }
        ([], Sameness::Unknown) => finding(
            Severity::Info,
            "What was changed between the two is unknown: nothing that was recorded tells their targets apart.",
        ),
        ([], Sameness::Other) => Vec::new(),
        ([one], Sameness::Same(_) | Sameness::Unknown) => {
            finding(Severity::Info, &format!("Of what was recorded, {one} alone was changed."))
        }
        (several, sameness) => {
            let target = matches!(sameness, Sameness::Other).then_some("the target's program");
            let all: Vec<&str> = target.into_iter().chain(several.iter().copied()).collect();
            let what = format!(
                "More than one thing was changed: {}. Their effects cannot be told apart.",
                all.join(", ")
            );
            finding(Severity::Caution, &what)
        }
    }
}

/// Whether a run stands beside itself.
pub(super) fn is_same_run(base: &Known<'_>, new: &Known<'_>) -> bool {
    let (base, new) = (base.manifest(), new.manifest());
    base == new && !base.started_at.is_empty()
}

/// What differs besides the program under test.
fn changes(base: &Known<'_>, new: &Known<'_>) -> Vec<&'static str> {
    let (some, other) = (base.manifest(), new.manifest());
    let offered = |known: &Known<'_>| (known.workload.phases.clone(), known.workload.scenarios.clone());
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

/// Whether the same program answered.
enum Sameness {
    Same(&'static str),
    Other,
    Unknown,
}

/// A program is known by the digest of its file; a process, whatever its file, by its number and its start.
fn targets(base: &Known<'_>, new: &Known<'_>) -> Sameness {
    let (some, other) = (&base.manifest().targets, &new.manifest().targets);
    let names: BTreeSet<&String> = some.keys().chain(other.keys()).collect();
    let mut same = None;
    for name in names {
        let fact =
            |key: &str| [some, other].map(|targets| targets.get(name).and_then(|facts| facts.get(key)));
        match (fact("exe_sha256"), fact("started_unix_s"), fact("pid")) {
            ([Some(some), Some(other)], ..) if some != other => return Sameness::Other,
            (_, [Some(a), Some(b)], [Some(c), Some(d)]) if a == b && c == d => {
                same = same.or(Some("The same process answered"));
            }
            ([Some(_), Some(_)], ..) => same = Some("The same program answered"),
            _ => return Sameness::Unknown,
        }
    }
    same.map_or(Sameness::Unknown, Sameness::Same)
}
