//! Quantiles, means and extremes of times.

use evidence::{Histogram, Key, Metric, Missing, Quantile};
use figures::{Figures, Row, RowKey, dropped_requests};
use workload::{Filter, Flow, Objective, Scenario, Statistic};

use super::source::MeasureSource;
use super::{Measurement, Value};
use crate::shares;

/// Length of the batches that intervals are computed from, in seconds.
pub(crate) const BATCH_S: u32 = shares::BATCH_S as u32;
const MS: f64 = 1_000.0;

/// The observations of an objective on times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observations {
    /// Times of successes.
    pub(super) times: Histogram,
    /// Failed requests and dropped arrivals.
    pub(super) infinitely_slow: u64,
}

impl Observations {
    pub(crate) fn of(figures: &Figures, objective: &Objective) -> Observations {
        let mut seen = Observations::default();
        for group in figures.time_groups(&objective.measure, &objective.filter) {
            seen.times.merge(group.times);
            seen.infinitely_slow += group.infinitely_slow;
        }
        seen
    }

    pub(crate) fn merge(&mut self, other: &Observations) {
        self.times.merge(&other.times);
        self.infinitely_slow += other.infinitely_slow;
    }

    pub(crate) fn count(&self) -> u64 {
        self.times.count() + self.infinitely_slow
    }

    pub(crate) fn quantile(&self, q: f64) -> Quantile {
        self.times.quantile_with(q, self.infinitely_slow)
    }
}

/// A statistic of times. A quantile counts failed requests and dropped arrivals as infinitely slow; mean, lowest and
/// highest are of successes only.
pub(super) fn observe(
    source: &MeasureSource<'_>,
    objective: &Objective,
    statistic: Statistic,
) -> Measurement {
    let seen = Observations::of(source.figures, objective);
    let samples = seen.count();
    let value = match (statistic, samples) {
        (_, 0) if source.figures.missing.contains(&Missing::Distributions) => Value::Missing(
            "The source recorded no single times, only its own figures, which cannot be checked.".to_owned(),
        ),
        (_, 0) => Value::Missing("Nothing it counts was due: not measured is not zero.".to_owned()),
        (Statistic::Quantile(q), _) => match seen.quantile(q) {
            Quantile::Finite(us) => Value::Finite(us / MS),
            Quantile::Infinite | Quantile::Empty => Value::Infinite,
        },
        (Statistic::Mean, _) => of_successes(seen.times.mean_us()),
        (Statistic::Max, _) => of_successes(seen.times.max_us().map(|us| us as f64)),
        (Statistic::Min, _) => of_successes(seen.times.min_us().map(|us| us as f64)),
    };
    Measurement::new(value, "ms", samples)
}

fn of_successes(us: Option<f64>) -> Value {
    us.map_or(Value::Infinite, |us| Value::Finite(us / MS))
}

/// How many observations of `metric` a dropped arrival of `key` would have made.
pub(super) fn dropped_observations(
    source: &MeasureSource<'_>,
    metric: Metric,
    filter: &Filter,
    key: &Key,
) -> u64 {
    let MeasureSource { workload, figures, .. } = *source;
    let row = RowKey::from(key);
    let is_its = |scenario: &&Scenario| *scenario.name == *key.scenario;
    let flow = workload.scenarios.iter().find(is_its).map(|scenario| &scenario.flow);
    match metric {
        Metric::IterationTime => u64::from(row.with_endpoint("").matches(filter)),
        Metric::ServiceTime => 0,
        _ if matches!(flow, Some(Flow::Script { .. })) => requests_an_iteration(figures, filter, &row),
        _ => {
            let steps = workload.steps_of_sequence(&key.scenario).iter();
            dropped_requests(steps.map(|step| &*step.name), filter, &row)
        }
    }
}

/// How many requests that `filter` counts an iteration of a script sent, rounded up, where and when one of `dropped` would have
/// begun: the script alone knows how many they would have been.
fn requests_an_iteration(figures: &Figures, filter: &Filter, dropped: &RowKey) -> u64 {
    let is_beside = |key: &RowKey| key.with_endpoint("") == dropped.with_endpoint("");
    let counted = figures.endpoints().filter(|row| is_beside(&row.key) && row.key.matches(filter));
    let requests: u64 = counted.map(Row::begun).sum();
    let started: u64 =
        figures.scenario_phases.iter().filter(|row| is_beside(&row.key)).map(|row| row.started).sum();
    if started == 0 { 0 } else { requests.div_ceil(started) }
}
