//! The measurement of an objective: one number, its interval, and the number of observations. No rule is applied here.

mod rates;
mod series;
mod stated;
pub(crate) mod times;

pub(crate) use stated::StatedAnswer;

use evidence::run::ReadError;
use evidence::{Missing, Run};
use workload::{Measure, Objective, Workload};

use crate::tables::Tables;

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// In the measure's unit.
    Finite(f64),
    /// More requests failed or were dropped than the quantile leaves out.
    Infinite,
    /// It was not measured, which is not zero; the sentence names what is missing.
    Missing(String),
}

/// The measurement of one objective.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) value: Value,
    /// The unit of value, bound and interval.
    pub(crate) unit: String,
    /// The 95 % interval within this run.
    pub(crate) interval: Option<(f64, f64)>,
    /// The number of observations.
    pub(crate) samples: u64,
    /// The lowest and the highest that the value can be, where it was read from a histogram's bucket.
    pub(crate) bucket: Option<(f64, f64)>,
    /// For quantiles only.
    pub(crate) tail: Option<QuantileTail>,
    /// For observed series: the share of its window in which it was not observed.
    pub(crate) unobserved: Option<f64>,
    /// Of an imported run without single times: what its source's figures say.
    pub(crate) stated: Option<StatedAnswer>,
}

/// The observations beyond a quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuantileTail {
    /// Which quantile, 0 to 1.
    pub(crate) q: f64,
    /// How many observations are beyond it.
    pub(crate) beyond: f64,
    /// Observations per independent observation, where it can be computed; at least 1.
    pub(crate) design_effect: Option<f64>,
}

impl Measurement {
    fn new(value: Value, unit: &str, samples: u64) -> Measurement {
        Measurement {
            value,
            unit: unit.to_owned(),
            interval: None,
            bucket: None,
            samples,
            tail: None,
            unobserved: None,
            stated: None,
        }
    }

    fn missing(why: &str) -> Measurement {
        Measurement::new(Value::Missing(why.to_owned()), "", 0)
    }
}

/// Measures `objective` in this run.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(crate) fn observe(
    run: &dyn Run,
    workload: &Workload,
    tables: &Tables,
    objective: &Objective,
) -> Result<Measurement, ReadError> {
    let filter = &objective.filter;
    let source = run.manifest().source.as_ref().filter(|source| source.lacks(Missing::Distributions));
    if let Some(stated) = source.and_then(|source| stated::observe(source, workload, objective)) {
        return Ok(stated);
    }
    Ok(match &objective.measure {
        Measure::ResponseTime(statistic)
        | Measure::ServiceTime(statistic)
        | Measure::IterationTime(statistic) => {
            let source = times::TimeSource { run, workload, tables };
            times::observe(&source, objective, *statistic)?
        }
        Measure::ErrorRate => rates::error_rate(tables, filter),
        Measure::Goodput { within } => rates::goodput(tables, filter, *within),
        Measure::Throughput => rates::throughput(tables, filter),
        Measure::CheckRate { check } => rates::check_rate(tables, filter, check.as_deref()),
        Measure::Series { statistic, name, target } => {
            let selected = match series::select(run, name, target.as_deref()) {
                Ok(selected) => selected,
                Err(why) => return Ok(Measurement::missing(&why)),
            };
            let phases = tables.phases.iter().filter(|p| filter.phase.as_ref().is_none_or(|f| *f == p.name));
            series::observe(run, &selected, phases, *statistic)?
        }
    })
}
