//! What observations are to an objective.

use evidence::Metric;
use workload::{Filter, Measure};

use crate::row_key::RowKey;

/// The metric whose observations a measure of requests counts.
pub fn metric_of(measure: &Measure) -> Metric {
    match measure {
        Measure::ServiceTime(_) => Metric::ServiceTime,
        Measure::IterationTime(_) => Metric::IterationTime,
        _ => Metric::ResponseTime,
    }
}

/// How many requests that `filter` counts an arrival would have made that was dropped and counted for `row`: one, or one for each
/// of the steps of its sequence, whose names `steps` are.
pub fn dropped_requests<'s>(steps: impl IntoIterator<Item = &'s str>, filter: &Filter, row: &RowKey) -> u64 {
    match row.endpoint.is_empty() {
        true => steps.into_iter().filter(|step| row.with_endpoint(step).matches(filter)).count() as u64,
        false => u64::from(row.matches(filter)),
    }
}
