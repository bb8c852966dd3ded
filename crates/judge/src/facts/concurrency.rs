//! The number of concurrent iterations, as observed, and as rate and times imply it (J. D. C. Little, "A proof for the
//! queuing formula L = λW", Operations Research 9, 1961).

use evidence::run::{ReadError, select};
use evidence::{Coverage, CoveredSample, Ending, Metric, Run, SeriesKey};
use workload::Workload;

use super::Workers;

/// In a shorter run it is not tested.
pub(crate) const LEAST_RUN_S: u32 = 20;

/// Below this concurrency rounding dominates.
const MIN_CONCURRENCY: f64 = 1.0;
/// The largest share of the iteration time that may be start lag: the difference of two nearly equal numbers is noise.
const MAX_LAG_SHARE: f64 = 0.5;

/// The concurrency of one scenario, observed and implied, in the mean over the run.
///
/// From the first start to the last end, the time that iterations took is the integral of their number, whatever the
/// target did. Over a part of the run it is not: iterations that overlap an end of it count in part on one side.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Concurrency {
    pub(crate) scenario: String,
    /// Concurrent iterations.
    pub(crate) seen: f64,
    /// Iterations a second × their mean time, without start lag.
    pub(crate) implied: f64,
}

/// Each scenario of a run in which every iteration that began is known to have ended.
pub(super) fn concurrencies(
    run: &dyn Run,
    workload: &Workload,
    workers: &Workers,
) -> Result<Vec<Concurrency>, ReadError> {
    let is_whole = run.end().is_some_and(|end| {
        end.folded_ticks == 0 && end.iterations_in_flight == 0 && !matches!(end.ending, Ending::Aborted(_))
    });
    let has_lost_a_worker = workers.all.iter().any(|worker| worker.vanished.is_some());
    if !is_whole || has_lost_a_worker || run.seconds() < LEAST_RUN_S || run.manifest().source.is_some() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for scenario in &workload.scenarios {
        let name = &*scenario.name;
        if let Some(implied) = implied(run, name)?
            && let Some(seen) = seen(run, name)?.filter(|seen| *seen >= MIN_CONCURRENCY)
        {
            all.push(Concurrency { scenario: name.to_owned(), seen, implied });
        }
    }
    Ok(all)
}

/// The sum over the loops that were active; none where the samples of one have gaps, as those of a tick that took longer
/// than its second.
fn seen(run: &dyn Run, scenario: &str) -> Result<Option<f64>, ReadError> {
    let is_its = |series: &&SeriesKey| {
        &*series.target == SeriesKey::GENERATOR && &*series.name == "active" && &*series.part == scenario
    };
    let mut sum = None;
    for series in run.series().iter().filter(is_its) {
        let coverage = Coverage::read(run, series)?;
        let samples = coverage.all();
        if samples.windows(2).any(|pair| pair[0].end < pair[1].begin) {
            return Ok(None);
        }
        let concurrent = |sample: &CoveredSample| sample.value * sample.length_s();
        *sum.get_or_insert(0.0) += samples.iter().map(concurrent).sum::<f64>() / f64::from(run.seconds());
    }
    Ok(sum)
}

fn implied(run: &dyn Run, scenario: &str) -> Result<Option<f64>, ReadError> {
    let sum_s = |metric: Metric| -> Result<f64, ReadError> {
        let mut sum_s = 0.0;
        for (id, _) in select(run.keys(), metric, |key| &*key.scenario == scenario) {
            let times = run.histogram(id, run.whole())?;
            sum_s += times.mean_us().unwrap_or(0.0) * times.count() as f64 / 1e6;
        }
        Ok(sum_s)
    };
    for (id, _) in select(run.keys(), Metric::IterationsCancelled, |key| &*key.scenario == scenario) {
        if run.total(id)? > 0 {
            return Ok(None);
        }
    }
    let (took_s, lag_s) = (sum_s(Metric::IterationTime)?, sum_s(Metric::StartLag)?);
    let is_measurable = took_s > 0.0 && lag_s <= MAX_LAG_SHARE * took_s;
    Ok(is_measurable.then_some((took_s - lag_s) / f64::from(run.seconds())))
}
