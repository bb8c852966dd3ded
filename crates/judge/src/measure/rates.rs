//! Shares of requests and checks that failed.

use evidence::Missing;
use figures::{Figures, Row, RowKey};
use workload::Filter;

use super::{Measurement, Value};

fn endpoints<'t>(figures: &'t Figures, filter: &'t Filter) -> impl Iterator<Item = &'t Row> {
    figures.endpoints().filter(|endpoint| counts(figures, filter, &endpoint.key))
}

/// Whether what is counted under this key counts for an objective: in a phase of the plan, and not of the run's setup.
fn counts(figures: &Figures, filter: &Filter, key: &RowKey) -> bool {
    key.matches(filter) && figures.phases.iter().any(|phase| *phase.name == *key.phase)
}

/// Why failures are unknown, for an imported run whose source does not distinguish them from successes.
pub(super) fn without_outcomes(figures: &Figures) -> Option<Value> {
    let lacks = figures.missing.contains(&Missing::Outcomes);
    lacks.then(|| Value::Missing("The source does not record how requests ended.".to_owned()))
}

fn share(part: u64, all: u64, missing: &str) -> Measurement {
    let value = match all {
        0 => Value::Missing(missing.to_owned()),
        all => Value::Finite(part as f64 / all as f64),
    };
    Measurement::new(value, "1", all)
}

/// Failed requests and arrivals dropped at the VU limit, as a share of these and the successes. Requests that the
/// generator cancelled and arrivals that it dropped because it was late are in neither number.
pub(super) fn error_rate(figures: &Figures, filter: &Filter) -> Measurement {
    if let Some(missing) = without_outcomes(figures) {
        return Measurement::new(missing, "1", 0);
    }
    let (mut failed, mut attempted) = (0, 0);
    for endpoint in endpoints(figures, filter) {
        failed += endpoint.failed_by_target();
        attempted += endpoint.attempted();
    }
    share(failed, attempted, "No request it counts was due: not measured is not zero.")
}

/// Passed share of one check, or of all; of endpoints and of whole iterations.
pub(super) fn check_rate(figures: &Figures, filter: &Filter, check: Option<&str>) -> Measurement {
    let (mut passed, mut failed) = (0, 0);
    let rows = figures.rows.iter().filter(|row| counts(figures, filter, &row.key));
    let checks = rows.flat_map(|row| &row.checks);
    for (_, counts) in checks.filter(|(name, _)| check.is_none_or(|c| c == &***name)) {
        passed += counts.passed;
        failed += counts.failed;
    }
    share(passed, passed + failed, "The check was never made: not measured is not zero.")
}
