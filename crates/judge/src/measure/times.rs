//! Quantiles, means and extremes of times, with the interval that this run alone supports.

use evidence::run::ReadError;
use evidence::{Histogram, Key, KeyId, Metric, Missing, Outcome, Quantile, Run, Seconds};
use workload::{Filter, Measure, Objective, Statistic, Workload};

use super::{Observed, Tail, Value};
use crate::facts::{self, Place, Tables, matches, steps_of_sequence};
use crate::thresholds::BATCH_S;

const MS: f64 = 1_000.0;
/// A histogram tells times apart to a part in a thousand; no error is taken for smaller.
const RESOLUTION: f64 = 0.001;

/// A statistic of times. A quantile counts what failed or was dropped as infinitely slow; mean, lowest and
/// highest are of successes only.
pub(super) fn observe(
    run: &dyn Run,
    (workload, tables): (&Workload, &Tables),
    (objective, statistic): (&Objective, Statistic),
) -> Result<Observed, ReadError> {
    let (mut times, mut missed) = (Histogram::new(), 0);
    for group in facts::groups(&objective.measure, &objective.filter, tables) {
        times.merge(group.times);
        missed += group.missed;
    }
    let samples = times.count() + missed;
    let value = match (statistic, samples) {
        (_, 0) if tables.missing.contains(&Missing::Distributions) => Value::Missing(
            "The source kept no single times, only figures of its own, which cannot be checked.".to_owned(),
        ),
        (_, 0) => Value::Missing("Nothing it counts was due: not measured is not zero.".to_owned()),
        (Statistic::Quantile(q), _) => match times.quantile_with(q, missed) {
            Quantile::Finite(us) => Value::Finite(us / MS),
            Quantile::Infinite | Quantile::Empty => Value::Infinite,
        },
        (Statistic::Mean, _) => survivors(times.mean_us()),
        (Statistic::Max, _) => survivors(times.max_us().map(|us| us as f64)),
        (Statistic::Min, _) => survivors(times.min_us().map(|us| us as f64)),
    };
    let mut observed = Observed::new(value, "ms", samples);
    if let (Statistic::Quantile(q), true) = (statistic, samples > 0) {
        let batches = Chosen::of(run, workload, objective).quantiles(run, tables, (objective, q))?;
        if let Value::Finite(ms) = observed.value {
            // No time is below zero, however wide the interval.
            observed.interval = stats::batch_means(ms, &batches).map(|i| (i.low.max(0.0), i.high));
        }
        observed.tail = Some(tail(q, (&times, missed), &batches));
    }
    Ok(observed)
}

fn survivors(us: Option<f64>) -> Value {
    us.map_or(Value::Infinite, |us| Value::Finite(us / MS))
}

/// What lies beyond the `q`-quantile. An infinite one rests on all that never got an answer.
fn tail(q: f64, (times, missed): (&Histogram, u64), batches: &[f64]) -> Tail {
    let n = (times.count() + missed) as f64;
    let beyond = n * (1.0 - q);
    let is_infinite = times.quantile_with(q, missed) == Quantile::Infinite;
    let beyond = if is_infinite { beyond.max(missed as f64) } else { beyond };
    let error = independent_error(q, times, missed);
    Tail { q, beyond, design_effect: error.and_then(|error| stats::design_effect(batches, error)) }
}

/// The standard error of a quantile, in milliseconds, were all observations independent: half the distance
/// between the order statistics one binomial standard deviation below and above it.
fn independent_error(q: f64, times: &Histogram, missed: u64) -> Option<f64> {
    let n = (times.count() + missed).max(1) as f64;
    let reach = (q * (1.0 - q) / n).sqrt();
    let at = |q: f64| times.quantile_with(q, missed).finite_us().map(|us| us / MS);
    let floor = at(q)? * RESOLUTION;
    Some(((at(q + reach)? - at(q - reach)?) / 2.0).max(floor))
}

/// The keys an objective on times is made of.
struct Chosen {
    /// Histograms of successes.
    times: Vec<KeyId>,
    /// Histograms of failures.
    failures: Vec<KeyId>,
    /// Counters of dropped arrivals, and how many observations each of these would have made.
    drops: Vec<(KeyId, u64)>,
}

impl Chosen {
    fn of(run: &dyn Run, workload: &Workload, objective: &Objective) -> Chosen {
        let metric = match objective.measure {
            Measure::ServiceTime(_) => Metric::ServiceTime,
            Measure::IterationTime(_) => Metric::IterationTime,
            _ => Metric::ResponseTime,
        };
        let mut chosen = Chosen { times: Vec::new(), failures: Vec::new(), drops: Vec::new() };
        for (id, key) in run.keys() {
            let outcome = key.outcome.unwrap_or(Outcome::Ok);
            let is_counted = matches(&objective.filter, &place(key));
            match key.metric {
                m if m == metric && is_counted && outcome == Outcome::Ok => chosen.times.push(*id),
                m if m == metric && is_counted && outcome.is_failure() => chosen.failures.push(*id),
                Metric::DroppedCap | Metric::DroppedLate => {
                    let times = observations(workload, (metric, &objective.filter), key);
                    chosen.drops.extend((times > 0).then_some((*id, times)));
                }
                _ => {}
            }
        }
        chosen
    }

    /// The `q`-quantile, in milliseconds, of each batch of the objective's window; infinite ones included.
    fn quantiles(
        &self,
        run: &dyn Run,
        tables: &Tables,
        (objective, q): (&Objective, f64),
    ) -> Result<Vec<f64>, ReadError> {
        let is_in = |name: &str| objective.filter.phase.as_deref().is_none_or(|phase| phase == name);
        let spans: Vec<Seconds> =
            tables.spans.iter().filter(|s| is_in(&s.name)).map(|s| s.seconds()).collect();
        let start = spans.iter().map(|s| s.start).min().unwrap_or(0);
        let end = spans.iter().map(|s| s.end).max().unwrap_or(0).min(run.seconds());
        let count = end.saturating_sub(start) / BATCH_S;
        let mut quantiles = Vec::new();
        for batch in 0..count {
            let from = start + batch * BATCH_S;
            // What is left over, and what was answered after the window's end, belongs to the last batch.
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
        let mut missed = 0;
        for id in &self.failures {
            missed += run.histogram(*id, window.clone())?.count();
        }
        for (id, times) in &self.drops {
            missed += times * run.counts(*id, window.clone())?.iter().map(|(_, n)| n).sum::<u64>();
        }
        Ok(times.quantile_with(q, missed))
    }
}

fn place(key: &Key) -> Place {
    Place { phase: key.phase.clone(), scenario: key.scenario.clone(), endpoint: key.endpoint.clone() }
}

/// How many observations a dropped arrival of `key` would have made.
fn observations(workload: &Workload, (metric, filter): (Metric, &Filter), key: &Key) -> u64 {
    match metric {
        Metric::IterationTime => u64::from(matches(filter, &Place { endpoint: "".into(), ..place(key) })),
        Metric::ServiceTime => 0,
        _ if key.endpoint.is_empty() => {
            let step_counts = |name: &str| matches(filter, &Place { endpoint: name.into(), ..place(key) });
            let steps = steps_of_sequence(workload, &key.scenario);
            steps.iter().filter(|step| step_counts(&step.name)).count() as u64
        }
        _ => u64::from(matches(filter, &place(key))),
    }
}
