//! Backlogs: requests in flight that grow through a phase whose offered rate is constant. The target does not keep up.

use std::time::Duration;

use evidence::run::{ReadError, select};
use evidence::{Key, Metric, Run, Seconds};
use stats::RateWindow;
use workload::{Scenario, Schedule, Workload};

use crate::shares::CONFIDENCE;

/// Seconds in which a plan offers as much as in others differ by this at most: whole arrivals do not divide evenly.
const ROUNDING: f64 = 1.5;
/// With fewer whole seconds there is no backlog to be seen: each half needs three.
pub(crate) const LEAST_SECONDS: usize = 6;
/// Growth of fewer requests is none.
pub(crate) const LEAST_GROWTH: f64 = 10.0;
/// Nor is that of a smaller share of the requests that were begun.
pub(crate) const LEAST_SHARE: f64 = 0.01;

/// A scenario in a phase with which the target did not keep up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Backlog {
    pub(crate) phase: String,
    pub(crate) scenario: String,
    /// Whether an arrival is one request: what was begun was offered, then.
    pub(crate) is_one_request: bool,
    /// Whole seconds in which the phase offered its load.
    pub(crate) seconds: f64,
    /// Requests begun, per second.
    pub(crate) begun_per_s: f64,
    /// Requests that ended, per second.
    pub(crate) ended_per_s: f64,
    /// How many more were in flight at the end than at the beginning.
    pub(crate) growth: f64,
    /// Requests in flight at the end.
    pub(crate) waiting: u64,
}

impl Backlog {
    /// Whether what `key` counts was due in its phase, and of its scenario.
    pub(crate) fn is_of(&self, key: &Key) -> bool {
        *key.phase == *self.phase && *key.scenario == *self.scenario
    }
}

/// The backlogs of a run. Results of other tools do not say when requests began.
pub(crate) fn backlogs(run: &dyn Run, workload: &Workload) -> Result<Vec<Backlog>, ReadError> {
    if run.manifest().source.is_some() {
        return Ok(Vec::new());
    }
    let windows = workload.windows(run)?;
    let mut all = Vec::new();
    for scenario in &workload.scenarios {
        let Some(schedule) = Schedule::new(&scenario.executor) else { continue };
        let flow = RequestFlow::read(run, scenario)?;
        for span in windows.spans() {
            let whole = span.whole_seconds();
            let seconds = constant_part(scenario, &schedule, whole.start..whole.end.min(run.seconds()));
            all.extend(
                flow.backlog(seconds).map(|backlog| Backlog { phase: span.name.to_string(), ..backlog }),
            );
        }
    }
    Ok(all)
}

/// The seconds in which the scenario offers load, if it offers the same in all of them; else none.
fn constant_part(scenario: &Scenario, schedule: &Schedule, seconds: Seconds) -> Seconds {
    let since = |second: u32| Duration::from_secs(second.into()).saturating_sub(scenario.start);
    let planned = |second: u32| schedule.arrivals_between(since(second), since(second + 1)) as f64;
    let most = seconds.clone().map(planned).fold(0.0, f64::max);
    // It may begin and end within a second.
    let is_full = |second: &u32| most > 0.0 && planned(*second) >= most - ROUNDING;
    let part = seconds.clone().find(is_full).unwrap_or(seconds.end)
        ..seconds.clone().rev().find(is_full).map_or(seconds.end, |last| last + 1);
    if part.clone().all(|second| is_full(&second)) { part } else { seconds.end..seconds.end }
}

/// Requests of a scenario that began and ended, by second of the run.
struct RequestFlow<'s> {
    scenario: &'s Scenario,
    begun: Vec<f64>,
    ended: Vec<f64>,
}

impl RequestFlow<'_> {
    fn read<'s>(run: &dyn Run, scenario: &'s Scenario) -> Result<RequestFlow<'s>, ReadError> {
        let empty = vec![0.0; run.seconds() as usize];
        let mut flow = RequestFlow { scenario, begun: empty.clone(), ended: empty };
        let is_its = |key: &Key| *key.scenario == *scenario.name && &*key.phase != "setup";
        for (id, _) in select(run.keys(), Metric::Requests, is_its) {
            for (second, count) in run.counts(id, run.whole())? {
                flow.begun[second as usize] += count as f64;
            }
        }
        for (id, _) in select(run.keys(), Metric::ResponseTime, is_its) {
            for (second, times) in run.histograms(id, run.whole())? {
                flow.ended[second as usize] += times.count() as f64;
            }
        }
        Ok(flow)
    }

    /// The backlog at the end of these seconds, without its phase; none where what is in flight does not grow through both
    /// halves of them by more than chance.
    fn backlog(&self, seconds: Seconds) -> Option<Backlog> {
        let range = |seconds: &Seconds| seconds.start as usize..seconds.end as usize;
        let (begun, ended) = (self.begun.get(range(&seconds))?, self.ended.get(range(&seconds))?);
        let growths: Vec<f64> = begun.iter().zip(ended).map(|(begun, ended)| begun - ended).collect();
        let [all, grown, done]: [f64; 3] = [begun, &growths, ended].map(|each| each.iter().sum());
        if growths.len() < LEAST_SECONDS || grown < LEAST_GROWTH || grown < LEAST_SHARE * all {
            return None;
        }
        let (first, second) = growths.split_at(growths.len() / 2);
        if !grows(first) || !grows(second) {
            return None;
        }
        let until = 0..seconds.end;
        let [begun, ended] = [&self.begun, &self.ended].map(|each| each[range(&until)].iter().sum::<f64>());
        let length_s = growths.len() as f64;
        Some(Backlog {
            phase: String::new(),
            scenario: self.scenario.name.clone(),
            is_one_request: self.scenario.flow.is_one_request(),
            seconds: length_s,
            begun_per_s: all / length_s,
            ended_per_s: done / length_s,
            growth: grown,
            waiting: (begun - ended).max(0.0) as u64,
        })
    }
}

/// Whether the mean of these is above 0 at one-sided confidence.
fn grows(growths: &[f64]) -> bool {
    let mean = stats::mean(growths).unwrap_or(0.0);
    let window =
        RateWindow { length_s: growths.len() as f64, seconds: growths.to_vec(), planned: Vec::new() };
    stats::rate_limits(mean, &[window], CONFIDENCE).is_some_and(|limits| limits.lower > 0.0)
}
