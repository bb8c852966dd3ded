//! Quantiles, means and extremes of times, with the interval that this run alone supports.

use evidence::run::ReadError;
use evidence::{Histogram, Key, KeyId, Metric, Missing, Outcome, Quantile, Run, Seconds};
use workload::{Filter, Measure, Objective, Statistic, Workload};

use super::{Measurement, QuantileTail, Value};
use crate::tables::{StatsKey, Tables, steps_of_sequence};

/// Length of the batches that intervals are computed from, in seconds.
pub(crate) const BATCH_S: u32 = 10;
const MS: f64 = 1_000.0;
/// The resolution of a histogram is one part in a thousand; no error is taken to be smaller.
const RESOLUTION: f64 = 0.001;

/// The evidence that times are measured in.
pub(super) struct TimeSource<'a> {
    pub(super) run: &'a dyn Run,
    pub(super) workload: &'a Workload,
    pub(super) tables: &'a Tables,
}

/// The observations of an objective.
struct Observations {
    /// Times of successes.
    times: Histogram,
    /// Failed requests and dropped arrivals.
    infinitely_slow: u64,
}

impl Observations {
    fn count(&self) -> u64 {
        self.times.count() + self.infinitely_slow
    }

    fn quantile(&self, q: f64) -> Quantile {
        self.times.quantile_with(q, self.infinitely_slow)
    }
}

/// A statistic of times. A quantile counts failed requests and dropped arrivals as infinitely slow; mean, lowest and
/// highest are of successes only.
pub(super) fn observe(
    source: &TimeSource<'_>,
    objective: &Objective,
    statistic: Statistic,
) -> Result<Measurement, ReadError> {
    let mut seen = Observations { times: Histogram::new(), infinitely_slow: 0 };
    for group in source.tables.time_groups(&objective.measure, &objective.filter) {
        seen.times.merge(group.times);
        seen.infinitely_slow += group.infinitely_slow;
    }
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
    if let (Statistic::Quantile(_) | Statistic::Max | Statistic::Min, Value::Finite(ms)) =
        (statistic, &measurement.value)
    {
        let (low, high) = Histogram::bucket_of((ms * MS) as u64);
        measurement.bucket = Some((low as f64 / MS, high as f64 / MS));
    }
    if let (Statistic::Quantile(q), true) = (statistic, samples > 0) {
        let keys = ObjectiveKeys::of(source, objective);
        let batches = keys.batch_quantiles(source, objective.filter.phase.as_deref(), q)?;
        if let Value::Finite(ms) = measurement.value {
            // No time is below zero, however wide the interval.
            measurement.interval = stats::batch_means(ms, &batches).map(|i| (i.low.max(0.0), i.high));
        }
        measurement.tail = Some(tail(q, &seen, &batches));
    }
    Ok(measurement)
}

fn of_successes(us: Option<f64>) -> Value {
    us.map_or(Value::Infinite, |us| Value::Finite(us / MS))
}

/// The observations beyond the `q`-quantile. For an infinite one they are at least those that are infinitely slow.
fn tail(q: f64, seen: &Observations, batches: &[f64]) -> QuantileTail {
    let beyond = seen.count() as f64 * (1.0 - q);
    let is_infinite = seen.quantile(q) == Quantile::Infinite;
    let beyond = if is_infinite { beyond.max(seen.infinitely_slow as f64) } else { beyond };
    let error = independent_error(q, seen);
    QuantileTail { q, beyond, design_effect: error.and_then(|error| stats::design_effect(batches, error)) }
}

/// The standard error of a quantile, in milliseconds, if all observations were independent: half the distance between
/// the order statistics one binomial standard deviation below and above it.
fn independent_error(q: f64, seen: &Observations) -> Option<f64> {
    let n = seen.count().max(1) as f64;
    let reach = (q * (1.0 - q) / n).sqrt();
    let at = |q: f64| seen.quantile(q).finite_us().map(|us| us / MS);
    let floor = at(q)? * RESOLUTION;
    Some(((at(q + reach)? - at(q - reach)?) / 2.0).max(floor))
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
    fn of(source: &TimeSource<'_>, objective: &Objective) -> ObjectiveKeys {
        let metric = match objective.measure {
            Measure::ServiceTime(_) => Metric::ServiceTime,
            Measure::IterationTime(_) => Metric::IterationTime,
            _ => Metric::ResponseTime,
        };
        let mut keys = ObjectiveKeys { times: Vec::new(), failures: Vec::new(), drops: Vec::new() };
        for (id, key) in source.run.keys() {
            let outcome = key.outcome.unwrap_or(Outcome::Ok);
            let is_counted = StatsKey::from(key).matches(&objective.filter);
            match key.metric {
                m if m == metric && is_counted && outcome == Outcome::Ok => keys.times.push(*id),
                m if m == metric && is_counted && outcome.is_failure() => keys.failures.push(*id),
                Metric::DroppedCap | Metric::DroppedLate => {
                    let observations = observations(source.workload, metric, &objective.filter, key);
                    keys.drops.extend((observations > 0).then_some(DropCounter { id: *id, observations }));
                }
                _ => {}
            }
        }
        keys
    }

    /// The `q`-quantile, in milliseconds, of each batch of `phase` or of all phases; infinite ones included.
    fn batch_quantiles(
        &self,
        source: &TimeSource<'_>,
        phase: Option<&str>,
        q: f64,
    ) -> Result<Vec<f64>, ReadError> {
        let run = source.run;
        let is_in = |name: &str| phase.is_none_or(|phase| phase == name);
        let phases: Vec<Seconds> =
            source.tables.phases.iter().filter(|p| is_in(&p.name)).map(|p| p.seconds()).collect();
        let start = phases.iter().map(|s| s.start).min().unwrap_or(0);
        let end = phases.iter().map(|s| s.end).max().unwrap_or(0).min(run.seconds());
        let count = end.saturating_sub(start) / BATCH_S;
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
fn observations(workload: &Workload, metric: Metric, filter: &Filter, key: &Key) -> u64 {
    let stats_key = StatsKey::from(key);
    match metric {
        Metric::IterationTime => u64::from(stats_key.with_endpoint("").matches(filter)),
        Metric::ServiceTime => 0,
        _ if key.endpoint.is_empty() => {
            let steps = steps_of_sequence(workload, &key.scenario);
            steps.iter().filter(|step| stats_key.with_endpoint(&step.name).matches(filter)).count() as u64
        }
        _ => u64::from(stats_key.matches(filter)),
    }
}
