//! C7: numbers that nobody can trace to their evidence.

use evidence::{Finding, Scope, Severity};

use crate::compare::Provenance;
use crate::compare::known::{Known, Pair};
use crate::rule::named;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    let [base, new] = pair.both();
    [("baseline", base), ("other run", new)]
        .into_iter()
        .filter_map(|(which, known)| doubt(which, known))
        .collect()
}

fn doubt(which: &str, known: &Known<'_>) -> Option<Finding> {
    let has_times = known.facts.tables.cells.iter().any(|cell| !cell.ok.is_empty());
    let (severity, what) = match (known.provenance, known.imported_from()) {
        (Provenance::Changed, _) => (
            Severity::Invalid,
            format!(
                "The evidence of the {which} was changed after it was sealed: its digest is another one."
            ),
        ),
        (_, Some(source)) if !has_times => (
            Severity::Invalid,
            format!(
                "The {which} was imported from {source} as numbers that somebody else worked out: they cannot be worked \
                 out again."
            ),
        ),
        (_, Some(source)) => (
            Severity::Caution,
            format!("The {which} was imported from {source}: how its times were taken is that tool's word."),
        ),
        (Provenance::Unsealed, _) => (
            Severity::Caution,
            format!("The {which} was killed before it could be sealed: nothing says whether it is whole."),
        ),
        (Provenance::Intact, None) => return None,
    };
    Some(named("C7").finding(severity, Scope::default(), what))
}
