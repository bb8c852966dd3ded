//! What an objective comes to: one number, how sure it is, and what it rests on. No rule speaks here.

mod rates;
mod series;
mod times;

use evidence::Run;
use evidence::run::ReadError;
use workload::{Measure, Objective, Workload};

use crate::facts::Tables;

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// In the measure's unit.
    Finite(f64),
    /// More than the asked share never got its answer.
    Infinite,
    /// It was not measured, which is not zero; the sentence says what is lacking.
    Missing(String),
}

/// What was observed of one objective.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observed {
    pub(crate) value: Value,
    /// The unit of value, bound and interval.
    pub(crate) unit: String,
    /// The 95 % interval within this run.
    pub(crate) interval: Option<(f64, f64)>,
    /// How many observations it rests on.
    pub(crate) samples: u64,
    /// For quantiles: what lies beyond.
    pub(crate) tail: Option<Tail>,
}

/// What lies beyond a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tail {
    /// Which quantile, 0 to 1.
    pub(crate) q: f64,
    /// How many observations lie beyond it.
    pub(crate) beyond: f64,
    /// How many times fewer independent ones there are, where it can be told; at least 1.
    pub(crate) design_effect: Option<f64>,
}

impl Observed {
    pub(crate) fn new(value: Value, unit: &str, samples: u64) -> Observed {
        Observed { value, unit: unit.to_owned(), interval: None, samples, tail: None }
    }
}

/// What `objective` comes to in this run.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(crate) fn observe(
    run: &dyn Run,
    (workload, tables): (&Workload, &Tables),
    objective: &Objective,
) -> Result<Observed, ReadError> {
    let filter = &objective.filter;
    Ok(match &objective.measure {
        Measure::ResponseTime(statistic)
        | Measure::ServiceTime(statistic)
        | Measure::IterationTime(statistic) => {
            times::observe(run, (workload, tables), (objective, *statistic))?
        }
        Measure::ErrorRate => rates::error_rate(tables, filter),
        Measure::Goodput { within } => rates::goodput(tables, filter, *within),
        Measure::Throughput => rates::throughput(tables, filter),
        Measure::CheckRate { check } => rates::check_rate(tables, filter, check.as_deref()),
        Measure::Series { statistic, name, target } => {
            series::observe(run, (tables, filter), (*statistic, name, target.as_deref()))?
        }
    })
}
