//! Quantiles, means and extremes of times, with the interval that this run alone supports.

use evidence::run::ReadError;
use evidence::{Histogram, Key, KeyId, Metric, Missing, Outcome, Quantile, Run, Seconds};
use workload::{Filter, Flow, Measure, Objective, Scenario, Statistic};

use super::source::MeasureSource;
use super::{Measurement, Value};
use crate::shares;
use crate::tables::{StatsKey, Tables, steps_of_sequence};

/// Length of the batches that intervals are computed from, in seconds.
pub(crate) const BATCH_S: u32 = shares::BATCH_S as u32;
const MS: f64 = 1_000.0;

/// The observations of an objective on times.
pub(super) struct Observations {
    /// Times of successes.
    pub(super) times: Histogram,
    /// Failed requests and dropped arrivals.
    pub(super) infinitely_slow: u64,
}

impl Observations {
    pub(super) fn of(tables: &Tables, objective: &Objective) -> Observations {
        let mut seen = Observations { times: Histogram::new(), infinitely_slow: 0 };
        for group in tables.time_groups(&objective.measure, &objective.filter) {
            seen.times.merge(group.times);
            seen.infinitely_slow += group.infinitely_slow;
        }
        seen
    }

    fn count(&self) -> u64 {
        self.times.count() + self.infinitely_slow
    }

    pub(super) fn quantile(&self, q: f64) -> Quantile {
        self.times.quantile_with(q, self.infinitely_slow)
    }
}

/// A statistic of times. A quantile counts failed requests and dropped arrivals as infinitely slow; mean, lowest and
/// highest are of successes only.
pub(super) fn observe(
    source: &MeasureSource<'_>,
    objective: &Objective,
    statistic: Statistic,
) -> Result<Measurement, ReadError> {
    let seen = Observations::of(source.tables, objective);
    let samples = seen.count();
    let value = match (statistic, samples) {
        (_, 0) if source.tables.missing.contains(&Missing::Distributions) => Value::Missing(
            "The source kept no single times, only figures of its own, which cannot be checked.".to_owned(),
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
    let mut measurement = Measurement::new(value, "ms", samples);
    if let (Statistic::Quantile(q), true) = (statistic, samples > 0) {
        let keys = ObjectiveKeys::of(source, objective);
        let batches = keys.batch_quantiles(source, &objective.filter, q)?;
        if let Value::Finite(ms) = measurement.value {
            // No time is below zero, however wide the interval.
            measurement.interval = stats::batch_means(ms, &batches).map(|i| (i.low.max(0.0), i.high));
        }
    }
    Ok(measurement)
}

fn of_successes(us: Option<f64>) -> Value {
    us.map_or(Value::Infinite, |us| Value::Finite(us / MS))
}

/// The metric whose observations a measure of requests counts.
pub(super) fn metric_of(measure: &Measure) -> Metric {
    match measure {
        Measure::ServiceTime(_) => Metric::ServiceTime,
        Measure::IterationTime(_) => Metric::IterationTime,
        _ => Metric::ResponseTime,
    }
}

/// The keys that an objective on times counts.
struct ObjectiveKeys {
    /// Histograms of successes.
    times: Vec<KeyId>,
    /// Histograms of failures.
    failures: Vec<KeyId>,
    drops: Vec<DropCounter>,
}

/// A counter of dropped arrivals.
struct DropCounter {
    id: KeyId,
    /// Observations that each of these arrivals would have made.
    observations: u64,
}

impl ObjectiveKeys {
    fn of(source: &MeasureSource<'_>, objective: &Objective) -> ObjectiveKeys {
        let metric = metric_of(&objective.measure);
        let mut keys = ObjectiveKeys { times: Vec::new(), failures: Vec::new(), drops: Vec::new() };
        for (id, key) in source.run.keys() {
            let outcome = key.outcome.unwrap_or(Outcome::Ok);
            let is_counted = StatsKey::from(key).matches(&objective.filter);
            match key.metric {
                m if m == metric && is_counted && outcome == Outcome::Ok => keys.times.push(*id),
                m if m == metric && is_counted && outcome.is_failure() => keys.failures.push(*id),
                Metric::DroppedCap | Metric::DroppedLate => {
                    let observations = dropped_observations(source, metric, &objective.filter, key);
                    keys.drops.extend((observations > 0).then_some(DropCounter { id: *id, observations }));
                }
                _ => {}
            }
        }
        keys
    }

    /// The `q`-quantile, in milliseconds, of each batch of the window; infinite ones included.
    fn batch_quantiles(
        &self,
        source: &MeasureSource<'_>,
        filter: &Filter,
        q: f64,
    ) -> Result<Vec<f64>, ReadError> {
        let run = source.run;
        let Seconds { start, end } = source.window(filter);
        let count = (end - start) / BATCH_S;
        let mut quantiles = Vec::new();
        for batch in 0..count {
            let from = start + batch * BATCH_S;
            // The remainder, and responses after the window's end, belong to the last batch.
            let to = if batch + 1 == count { run.seconds() } else { from + BATCH_S };
            match self.quantile(run, from..to, q)? {
                Quantile::Empty => {}
                Quantile::Infinite => quantiles.push(f64::INFINITY),
                Quantile::Finite(us) => quantiles.push(us / MS),
            }
        }
        Ok(quantiles)
    }

    fn quantile(&self, run: &dyn Run, window: Seconds, q: f64) -> Result<Quantile, ReadError> {
        let mut times = Histogram::new();
        for id in &self.times {
            times.merge(&run.histogram(*id, window.clone())?);
        }
        let mut infinitely_slow = 0;
        for id in &self.failures {
            infinitely_slow += run.histogram(*id, window.clone())?.count();
        }
        for DropCounter { id, observations } in &self.drops {
            let dropped: u64 = run.counts(*id, window.clone())?.iter().map(|(_, n)| n).sum();
            infinitely_slow += observations * dropped;
        }
        Ok(times.quantile_with(q, infinitely_slow))
    }
}

/// How many observations of `metric` a dropped arrival of `key` would have made.
pub(super) fn dropped_observations(
    source: &MeasureSource<'_>,
    metric: Metric,
    filter: &Filter,
    key: &Key,
) -> u64 {
    let MeasureSource { workload, tables, .. } = *source;
    let stats_key = StatsKey::from(key);
    let is_its = |scenario: &&Scenario| *scenario.name == *key.scenario;
    let flow = workload.scenarios.iter().find(is_its).map(|scenario| &scenario.flow);
    match metric {
        Metric::IterationTime => u64::from(stats_key.with_endpoint("").matches(filter)),
        Metric::ServiceTime => 0,
        _ if matches!(flow, Some(Flow::Script { .. })) => requests_an_iteration(tables, filter, &stats_key),
        _ if key.endpoint.is_empty() => {
            let steps = steps_of_sequence(workload, &key.scenario);
            steps.iter().filter(|step| stats_key.with_endpoint(&step.name).matches(filter)).count() as u64
        }
        _ => u64::from(stats_key.matches(filter)),
    }
}

/// How many requests that `filter` counts an iteration of a script sent, rounded up, where and when one of `dropped` would have
/// begun: the script alone knows how many they would have been.
fn requests_an_iteration(tables: &Tables, filter: &Filter, dropped: &StatsKey) -> u64 {
    let is_beside = |key: &StatsKey| key.with_endpoint("") == dropped.with_endpoint("");
    let counted = tables.endpoints.iter().filter(|row| is_beside(&row.key) && row.key.matches(filter));
    let requests: u64 = counted.map(|row| row.requests).sum();
    let started: u64 =
        tables.scenario_phases.iter().filter(|row| is_beside(&row.key)).map(|row| row.started).sum();
    if started == 0 { 0 } else { requests.div_ceil(started) }
}
