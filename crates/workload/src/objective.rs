//! Objectives, which a run must meet: `p95(initialize, phase = gameplay) < 50ms`.

use std::time::Duration;

use evidence::stop_rule::Watched;
use serde::{Deserialize, Serialize};

mod metric;
mod parse;
mod quantity;

#[cfg(test)]
mod tests;

pub use metric::{MetricMeasure, MetricStatistic, MetricUnit};
pub use parse::{ObjectiveError, SERIES, is_series, parse, parse_among, parse_quantity};
pub use quantity::{CostKind, Quantity};

/// One objective of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Its name in the plan.
    pub name: String,
    /// Its text in the plan.
    pub source: String,
    pub measure: Measure,
    /// The observations that count.
    pub filter: Filter,
    /// How the measured value is compared with the bound.
    pub comparison: Comparison,
    /// The bound, in the measure's unit ([`Measure::unit`]).
    pub bound: f64,
    /// It stops the run when it fails, but not before so much of its window has passed; none: it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abort_after: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// `p95(…)`, `avg(…)`, `max(…)` of response time, in ms; failures and drops count as infinitely slow.
    ResponseTime(Statistic),
    /// `service_p95(…)` … of service time, in ms.
    ServiceTime(Statistic),
    /// `iteration_p95(…)` … of whole iterations, in ms.
    IterationTime(Statistic),
    /// `error_rate(…)`: failed share of all arrivals that were due and not cancelled, dropped ones included; 0 to 1.
    ErrorRate,
    /// `goodput(…, within = 50ms)`: correct completions a second, within the time limit if there is one.
    Goodput {
        /// The time limit: slower responses do not count.
        within: Option<Duration>,
    },
    /// `throughput(…)`: completions a second, correct or not.
    Throughput,
    /// `check_rate(…, check = "name")`: passed share of one check, or of all; 0 to 1.
    CheckRate {
        /// The check; none for all.
        check: Option<String>,
    },
    /// `mean(cpu, target = challenge)`: a statistic of an observed series, in the series' unit.
    Series {
        statistic: Statistic,
        name: String,
        /// The target's name; none if only one target has the series.
        target: Option<String>,
    },
    /// A statistic of a metric that a script makes: one of its thresholds. No plan has it.
    Metric(MetricMeasure),
}

/// A statistic of many values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The quantile, 0 to 1: `p95` is 0.95, `p99.9` is 0.999.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
    Max,
    Min,
}

/// Which observations an objective applies to; by default all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Filter {
    pub endpoint: Option<String>,
    pub scenario: Option<String>,
    pub phase: Option<String>,
}

/// How a value is compared with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Comparison {
    /// `<`
    #[serde(rename = "<")]
    Below,
    /// `<=`
    #[serde(rename = "<=")]
    AtMost,
    /// `>`
    #[serde(rename = ">")]
    Above,
    /// `>=`
    #[serde(rename = ">=")]
    AtLeast,
    /// `==`, which only thresholds of scripts have.
    #[serde(rename = "==")]
    Equal,
    /// `!=`, which only thresholds of scripts have.
    #[serde(rename = "!=")]
    NotEqual,
}

impl Comparison {
    /// Whether `value` meets the bound. Exact: nothing is rounded.
    pub fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Comparison::Below => value < bound,
            Comparison::AtMost => value <= bound,
            Comparison::Above => value > bound,
            Comparison::AtLeast => value >= bound,
            Comparison::Equal => value == bound,
            Comparison::NotEqual => value != bound,
        }
    }

    /// Whether it is met by values below its bound.
    pub fn is_upper(self) -> bool {
        matches!(self, Comparison::Below | Comparison::AtMost)
    }
}

impl Measure {
    /// The unit of values and bounds: `ms`, `1/s`, `1` for shares, empty for the unit of a series.
    pub fn unit(&self) -> &'static str {
        match self {
            Measure::ResponseTime(_) | Measure::ServiceTime(_) | Measure::IterationTime(_) => "ms",
            Measure::Goodput { .. } | Measure::Throughput => "1/s",
            Measure::ErrorRate | Measure::CheckRate { .. } => "1",
            Measure::Series { .. } => "",
            Measure::Metric(measure) => measure.unit(),
        }
    }
}

impl Measure {
    /// What a stop rule compares; none where it cannot be evaluated during the run.
    pub fn watched(&self) -> Option<Watched> {
        match self {
            Measure::ResponseTime(statistic)
            | Measure::ServiceTime(statistic)
            | Measure::IterationTime(statistic) => Some(match statistic {
                Statistic::Quantile(q) => Watched::Quantile(*q),
                Statistic::Mean => Watched::Mean,
                Statistic::Max => Watched::Max,
                Statistic::Min => Watched::Min,
            }),
            Measure::ErrorRate => Some(Watched::BadShare),
            Measure::CheckRate { .. } => Some(Watched::GoodShare),
            Measure::Goodput { .. } | Measure::Throughput | Measure::Series { .. } | Measure::Metric(_) => {
                None
            }
        }
    }
}
