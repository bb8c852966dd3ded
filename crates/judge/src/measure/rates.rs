//! Shares of requests and checks that failed.

use evidence::Missing;
use workload::Filter;

use super::{Measurement, Value};
use crate::tables::{EndpointStats, StatsKey, Tables};

fn endpoints<'t>(tables: &'t Tables, filter: &'t Filter) -> impl Iterator<Item = &'t EndpointStats> {
    tables.endpoints.iter().filter(|endpoint| counts(tables, filter, &endpoint.key))
}

/// Whether what is counted under this key counts for an objective: in a phase of the plan, and not of the run's setup.
fn counts(tables: &Tables, filter: &Filter, key: &StatsKey) -> bool {
    key.matches(filter) && tables.phases.iter().any(|phase| *phase.name == *key.phase)
}

/// Why failures are unknown, for an imported run whose source does not distinguish them from successes.
pub(super) fn without_outcomes(tables: &Tables) -> Option<Value> {
    let lacks = tables.missing.contains(&Missing::Outcomes);
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
pub(super) fn error_rate(tables: &Tables, filter: &Filter) -> Measurement {
    if let Some(missing) = without_outcomes(tables) {
        return Measurement::new(missing, "1", 0);
    }
    let (mut failed, mut attempted) = (0, 0);
    for endpoint in endpoints(tables, filter) {
        failed += endpoint.failed_by_target();
        attempted += endpoint.attempted();
    }
    share(failed, attempted, "No request it counts was due: not measured is not zero.")
}

/// Passed share of one check, or of all; of endpoints and of whole iterations.
pub(super) fn check_rate(tables: &Tables, filter: &Filter, check: Option<&str>) -> Measurement {
    let (mut passed, mut failed) = (0, 0);
    let whole = tables.scenario_phases.iter().filter(|whole| counts(tables, filter, &whole.key));
    let of_endpoints = endpoints(tables, filter).flat_map(|endpoint| &endpoint.checks);
    let checks = of_endpoints.chain(whole.flat_map(|whole| &whole.checks));
    for (_, counts) in checks.filter(|(name, _)| check.is_none_or(|c| c == &***name)) {
        passed += counts.passed;
        failed += counts.failed;
    }
    share(passed, passed + failed, "The check was never made: not measured is not zero.")
}
