//! C7: numbers that cannot be traced to their evidence.

use evidence::{Finding, Provenance, RuleId, Scope, Severity};

use crate::pair::{JudgedRun, Pair};
use crate::rule::{AffectedClaims, Check, DIFFERENCES, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::C7,
    title: "baseline-provenance",
    severity: Severity::Invalid,
    tests: "Whether each run's numbers can be computed again from its evidence. They cannot if it was imported as \
            finished numbers (percentiles, averages): invalid. A run file that was never sealed, because its run was \
            killed, and one that was imported with every request are cautions. Evidence that was changed after its seal is \
            a finding of A1.",
    affects: DIFFERENCES,
    why: "A number that cannot be recomputed from its evidence cannot be verified.",
    next: "Run it again, and keep the run file.",
    affected: AffectedClaims::Differences,
    check: Check::Pair(check),
};

fn check(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    [("baseline", base), ("other run", new)]
        .into_iter()
        .filter_map(|(name, run)| finding(name, run))
        .collect()
}

fn finding(name: &str, run: &JudgedRun<'_>) -> Option<Finding> {
    let has_times = run.facts.figures.endpoints().any(|endpoint| !endpoint.ok.is_empty());
    let (severity, what) = match (run.provenance, run.imported_from()) {
        (_, Some(source)) if !has_times => (
            Severity::Invalid,
            format!(
                "The {name} was imported from {source} as finished numbers: they cannot be computed again."
            ),
        ),
        (_, Some(source)) => (
            Severity::Caution,
            format!("The {name} was imported from {source}: how its times were measured cannot be checked."),
        ),
        (Provenance::Unsealed, _) => (
            Severity::Caution,
            format!("The {name} was killed before it was sealed: whether it is complete is unknown."),
        ),
        // A1 is the finding about a changed run by itself.
        (Provenance::Intact | Provenance::Changed, None) => return None,
    };
    Some(RULE.finding(severity, Scope::default(), what))
}
