//! The number of concurrent iterations, as observed, and as rate and times imply it (J. D. C. Little, "A proof for the
//! queuing formula L = λW", Operations Research 9, 1961).

use evidence::run::{ReadError, select};
use evidence::{Coverage, Metric, Outcome, Run, Seconds, SeriesKey, Window};
use workload::Workload;

/// With fewer whole seconds it is not tested.
pub(crate) const LEAST_WINDOW_S: u32 = 20;

/// The longest mean iteration time, as a share of the window: what its ends cut off is then small.
const MAX_ITERATION_SHARE: f64 = 0.01;
/// Seconds at each end of the window from which the concurrency and the times there are estimated.
const END_S: u32 = 3;
/// Below this concurrency rounding dominates.
const MIN_CONCURRENCY: f64 = 1.0;
/// The largest share of the iteration time that may be start lag: the difference of two nearly equal numbers is noise.
const MAX_LAG_SHARE: f64 = 0.5;

/// The concurrency of one scenario, observed and implied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Concurrency {
    pub(crate) scenario: String,
    /// Concurrent iterations, in the mean.
    pub(crate) seen: f64,
    /// Iterations a second × their mean time, without start lag.
    pub(crate) implied: f64,
    /// How far apart both may be because iterations overlap the ends of the window.
    pub(crate) cut: f64,
}

/// Each scenario of a run that has enough whole seconds.
pub(super) fn concurrencies(run: &dyn Run, workload: &Workload) -> Result<Vec<Concurrency>, ReadError> {
    // The first and the last second are not whole, and seconds that were merged cannot be separated.
    let window = 1..run.seconds().saturating_sub(2);
    let is_whole = run.end().is_some_and(|end| end.folded_ticks == 0);
    if !is_whole || window.len() < LEAST_WINDOW_S as usize || run.manifest().source.is_some() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for scenario in &workload.scenarios {
        let name = &*scenario.name;
        if let Some(implied) = implied(run, name, &window)?
            && let Some(seen) = seen(run, name, &window)?.filter(|seen| *seen >= MIN_CONCURRENCY)
        {
            let cut = cut(run, name, &window)?;
            all.push(Concurrency { scenario: name.to_owned(), seen, implied, cut });
        }
    }
    Ok(all)
}

/// The sum over the loops that were active.
fn seen(run: &dyn Run, scenario: &str, window: &Seconds) -> Result<Option<f64>, ReadError> {
    let is_its = |series: &&SeriesKey| {
        &*series.target == SeriesKey::GENERATOR && &*series.name == "active" && &*series.part == scenario
    };
    let mut sum = None;
    for series in run.series().iter().filter(is_its) {
        let concurrent = Coverage::of(run, series)?.integral(Window::of(window)).sum;
        sum = Some(sum.unwrap_or(0.0) + concurrent / window.len() as f64);
    }
    Ok(sum)
}

/// Iterations in progress at either end are counted whole on one side of the equation and in part on the other.
fn cut(run: &dyn Run, scenario: &str, window: &Seconds) -> Result<f64, ReadError> {
    let mut sum = 0.0;
    for end in [window.start..window.start + END_S, window.end - END_S..window.end] {
        let concurrent = seen(run, scenario, &end)?.unwrap_or(0.0);
        let (mut took_s, mut count) = (0.0, 0);
        for (id, _) in select(run.keys(), Metric::IterationTime, |key| &*key.scenario == scenario) {
            let times = run.histogram(id, end.clone())?;
            took_s += times.mean_us().unwrap_or(0.0) * times.count() as f64 / 1e6;
            count += times.count();
        }
        sum += concurrent * took_s / count.max(1) as f64;
    }
    Ok(sum / window.len() as f64)
}

fn implied(run: &dyn Run, scenario: &str, window: &Seconds) -> Result<Option<f64>, ReadError> {
    let (mut took_s, mut lag_s, mut count) = (0.0, 0.0, 0);
    for metric in [Metric::IterationTime, Metric::StartLag] {
        for (id, key) in select(run.keys(), metric, |key| &*key.scenario == scenario) {
            let times = run.histogram(id, window.clone())?;
            let sum_s = times.mean_us().unwrap_or(0.0) * times.count() as f64 / 1e6;
            match metric {
                // The time of a cancelled iteration is not recorded.
                _ if key.outcome == Some(Outcome::Cancelled) && !times.is_empty() => return Ok(None),
                Metric::IterationTime => (took_s, count) = (took_s + sum_s, count + times.count()),
                _ => lag_s += sum_s,
            }
        }
    }
    for (id, _) in select(run.keys(), Metric::IterationsCancelled, |key| &*key.scenario == scenario) {
        if run.total(id)? > 0 {
            return Ok(None);
        }
    }
    let length_s = window.len() as f64;
    let is_short = took_s / (count.max(1) as f64) <= MAX_ITERATION_SHARE * length_s;
    Ok((count > 0 && is_short && lag_s <= MAX_LAG_SHARE * took_s).then_some((took_s - lag_s) / length_s))
}
