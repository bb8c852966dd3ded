//! C7: numbers that cannot be traced to their evidence.

use evidence::{Finding, Provenance, Scope, Severity};

use crate::compare::judged_run::{JudgedRun, Pair};
use crate::rule::rule_by_id;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    [("baseline", base), ("other run", new)]
        .into_iter()
        .filter_map(|(name, run)| finding(name, run))
        .collect()
}

fn finding(name: &str, run: &JudgedRun<'_>) -> Option<Finding> {
    let has_times = run.facts.tables.endpoints.iter().any(|endpoint| !endpoint.ok.is_empty());
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
    Some(rule_by_id("C7").finding(severity, Scope::default(), what))
}
