//! The measurement of an objective: one number, its interval, and the number of observations. No rule is applied here.

mod bound;
mod completions;
mod despite_stalls;
mod family;
mod metric;
mod metric_shares;
mod quantile_interval;
mod ranges;
mod rates;
mod series;
mod shares;
mod source;
mod stalls;
mod stated;
pub(crate) mod times;
mod unread;
mod values;

pub(crate) use completions::RateMeasurement;
pub(crate) use family::{Tested, correct_violations, family_confidence};
pub(crate) use metric::unsent_requests;
pub(crate) use shares::{ShareMeasurement, WrongSide};
pub(crate) use source::{MeasureSource, Readings};
pub(crate) use stalls::DisturbedTime;
pub(crate) use stated::StatedAnswer;
pub(crate) use values::{UnknownPart, ValueRange};

use evidence::Missing;
use evidence::run::ReadError;
use workload::{Measure, Objective};

/// A number, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// In the measure's unit.
    Finite(f64),
    /// More requests failed or were dropped than the quantile leaves out.
    Infinite,
    /// It was not measured, which is not zero; the sentence names what is missing.
    Missing(String),
    /// A threshold selects by tags what nothing of a whole run has, so that it asks for nothing; the sentence names the tags.
    Unselected(String),
}

/// The measurement of one objective.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) value: Value,
    /// The unit of value, bound and interval.
    pub(crate) unit: String,
    /// Where the value lies within this run, each end at the confidence of a limit; the upper one may stay open.
    pub(crate) interval: Option<(f64, Option<f64>)>,
    /// The number of observations.
    pub(crate) samples: u64,
    /// Of a mean, a highest and a lowest time: between which values it lies.
    pub(crate) range: Option<ValueRange>,
    /// The share that decides the objective, of one about a share of arrivals.
    pub(crate) share: Option<ShareMeasurement>,
    /// The completions a second that decide the objective, of one on throughput or goodput.
    pub(crate) rate: Option<RateMeasurement>,
    /// For observed series: the share of its window in which it was not observed.
    pub(crate) unobserved: Option<f64>,
    /// Why there is a number and no verdict, where its measure has no interval.
    pub(crate) unanswered: Option<String>,
    /// Of a threshold of a script: whether the value meets it.
    pub(crate) holds_in_k6: Option<bool>,
    /// Of an imported run without single times: what its source's figures say.
    pub(crate) stated: Option<StatedAnswer>,
}

impl Measurement {
    fn new(value: Value, unit: &str, samples: u64) -> Measurement {
        Measurement {
            value,
            unit: unit.to_owned(),
            interval: None,
            samples,
            range: None,
            share: None,
            rate: None,
            unobserved: None,
            unanswered: None,
            holds_in_k6: None,
            stated: None,
        }
    }

    fn missing(why: &str) -> Measurement {
        Measurement::new(Value::Missing(why.to_owned()), "", 0)
    }
}

/// Measures `objective`.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(crate) fn observe(source: &MeasureSource<'_>, objective: &Objective) -> Result<Measurement, ReadError> {
    let MeasureSource { run, workload, .. } = *source;
    let summaries = run.manifest().source.as_ref().filter(|source| source.lacks(Missing::Distributions));
    if let Some(stated) = summaries.and_then(|source| stated::observe(source, workload, objective)) {
        return Ok(stated);
    }
    let mut measurement = value(source, objective)?;
    if !matches!(measurement.value, Value::Missing(_) | Value::Unselected(_)) {
        measurement.share = match &objective.measure {
            Measure::Metric(measure) => metric_shares::observe(source, objective, measure)?,
            _ => shares::observe(source, objective)?,
        };
        if let Some(share) = &measurement.share {
            measurement.interval = quantile_interval::of(source, objective, share)?.or(measurement.interval);
        }
        measurement.range = match &objective.measure {
            Measure::Metric(measure) => metric::range(source, objective, measure, &measurement)?,
            _ => values::observe(source, objective)?,
        };
    }
    Ok(measurement)
}

pub(crate) fn value(source: &MeasureSource<'_>, objective: &Objective) -> Result<Measurement, ReadError> {
    let (run, figures, filter) = (source.run, source.figures, &objective.filter);
    Ok(match &objective.measure {
        Measure::ResponseTime(statistic)
        | Measure::ServiceTime(statistic)
        | Measure::IterationTime(statistic) => times::observe(source, objective, *statistic),
        Measure::ErrorRate => rates::error_rate(figures, filter),
        Measure::Goodput { within } => completions::goodput(source, filter, *within)?,
        Measure::Throughput => completions::throughput(source, filter)?,
        Measure::CheckRate { check } => rates::check_rate(figures, filter, check.as_deref()),
        Measure::Series { statistic, name, target } => {
            let selected = match series::select(run, name, target.as_deref()) {
                Ok(selected) => selected,
                Err(why) => return Ok(Measurement::missing(&why)),
            };
            let phases = figures.phases.iter().filter(|p| filter.phase.as_ref().is_none_or(|f| *f == p.name));
            series::observe(run, &selected, phases, *statistic)?
        }
        Measure::Metric(measure) => metric::observe(source, objective, measure)?,
    })
}
