//! How many iterations were under way, as it was seen, and as rate and times imply it (J. D. C. Little, "A proof for the
//! queuing formula L = λW", Operations Research 9, 1961).

use evidence::run::{ReadError, select};
use evidence::{Metric, Outcome, Run, Seconds, SeriesKey};
use workload::Workload;

use crate::thresholds::LEAST_WINDOW_S;

/// Iterations may take this share of the window at most: what is cut off at its ends is then small.
const LONGEST: f64 = 0.01;
/// So many seconds at each end of the window tell what was under way there, and for how long.
const END: u32 = 3;
/// Below this many under way rounding is all.
const LEAST: f64 = 1.0;
/// The part of all time that may be start lag: of two numbers that are nearly alike the difference is noise.
const MOST_LAG: f64 = 0.5;

/// Both views of one scenario.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Concurrency {
    pub(crate) scenario: String,
    /// Iterations under way, in the mean.
    pub(crate) seen: f64,
    /// Iterations a second × their mean time, without what they waited to be started.
    pub(crate) implied: f64,
    /// How far apart both may be because the window cuts through what is under way at its ends.
    pub(crate) cut: f64,
}

/// Each scenario of a run whose whole seconds allow to tell.
pub(super) fn concurrencies(run: &dyn Run, workload: &Workload) -> Result<Vec<Concurrency>, ReadError> {
    // The first and the last second are not whole, and seconds that were folded into one are not known apart.
    let window = 1..run.seconds().saturating_sub(2);
    let is_whole = run.end().is_some_and(|end| end.folded_ticks == 0);
    if !is_whole || window.len() < LEAST_WINDOW_S as usize || run.manifest().source.is_some() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for scenario in &workload.scenarios {
        let name = &*scenario.name;
        if let Some(implied) = implied(run, name, &window)?
            && let Some(seen) = seen(run, name, &window)?.filter(|seen| *seen >= LEAST)
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
        let rest = series.part.strip_prefix(scenario);
        &*series.target == SeriesKey::GENERATOR
            && &*series.name == "active"
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" loop "))
    };
    let mut sum = None;
    for series in run.series().iter().filter(is_its) {
        let values = run.samples(series, window.clone())?;
        let under_way: f64 = values.iter().map(|sample| sample.value).sum();
        sum = Some(sum.unwrap_or(0.0) + under_way / window.len() as f64);
    }
    Ok(sum)
}

/// Iterations under way at either end are wholly on one side of the account and in part on the other.
fn cut(run: &dyn Run, scenario: &str, window: &Seconds) -> Result<f64, ReadError> {
    let mut sum = 0.0;
    for end in [window.start..window.start + END, window.end - END..window.end] {
        let under_way = seen(run, scenario, &end)?.unwrap_or(0.0);
        let (mut took_s, mut count) = (0.0, 0);
        for (id, _) in select(run.keys(), Metric::IterationTime, |key| &*key.scenario == scenario) {
            let times = run.histogram(id, end.clone())?;
            took_s += times.mean_us().unwrap_or(0.0) * times.count() as f64 / 1e6;
            count += times.count();
        }
        sum += under_way * took_s / count.max(1) as f64;
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
                // What was cancelled was under way, and nobody wrote down how long.
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
    let is_short = took_s / (count.max(1) as f64) <= LONGEST * length_s;
    Ok((count > 0 && is_short && lag_s <= MOST_LAG * took_s).then_some((took_s - lag_s) / length_s))
}
