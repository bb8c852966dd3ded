//! Steady-state analysis: for each endpoint, second by second, in phases whose load is planned to be constant, the
//! second from which it is steady, and its times from there on.

use std::collections::BTreeMap;

use evidence::run::{ReadError, select};
use evidence::{Histogram, Key, Metric, Outcome, Run, Seconds};
use figures::{Figures, PhaseWindow, RowKey};
use stats::NotSteady;
use stats::steady::MIN_STEADY_S;
use workload::Workload;

/// Endpoints with fewer requests in the median second are not analysed.
pub(crate) const STEADY_MIN_RATE: f64 = 10.0;
/// The 95th percentile of a second is analysed from so many requests a second on.
pub(crate) const STEADY_P95_MIN_RATE: f64 = 40.0;
/// A failed share in a few seconds that exceeds the mean by more than this is a burst.
pub(crate) const BURST: f64 = 0.05;
/// How many seconds those are.
pub(crate) const BURST_BATCH_S: u32 = 5;

/// A burst of failures is so many standard errors above the mean.
const BURST_ERRORS: f64 = 4.0;

/// The analysis of one endpoint in one phase.
#[derive(Debug)]
pub(crate) struct SteadyStateAnalysis {
    pub(crate) key: RowKey,
    /// The whole seconds of its phase.
    pub(crate) seconds: Seconds,
    pub(crate) state: Result<SteadyState, NotSteadyReason>,
}

/// Where an endpoint reaches steady state, in seconds from the beginning of [`SteadyStateAnalysis::seconds`].
#[derive(Debug)]
pub(crate) struct SteadyState {
    pub(crate) start_s: u32,
    /// The series that is the last to become steady, in words.
    pub(crate) last_series: &'static str,
    /// The cut that MSER-5 makes of the same series, if it makes one.
    pub(crate) mser_s: Option<u32>,
    pub(crate) after: WindowTimes,
}

/// Why an endpoint does not reach steady state.
#[derive(Debug)]
pub(crate) enum NotSteadyReason {
    /// This series of it is not steady.
    Series(&'static str, NotSteady),
    /// The phase is too short to show a steady state.
    ShortPhase,
    /// From `at_s` of the run on, far more requests failed than in the rest.
    Burst { at_s: u32, share: f64, mean: f64 },
    /// The planned load is not known, or the endpoint has too few requests a second.
    Untested,
}

/// Response times in a window.
#[derive(Debug, Default)]
pub(crate) struct WindowTimes {
    pub(crate) ok: Histogram,
    /// Failed requests and dropped arrivals.
    pub(crate) infinitely_slow: u64,
}

impl WindowTimes {
    /// The `q`-quantile, in milliseconds; failed requests and dropped arrivals count as infinitely slow.
    pub(crate) fn quantile_ms(&self, q: f64) -> Option<f64> {
        self.ok.quantile_with(q, self.infinitely_slow).finite_us().map(|us| us / 1_000.0)
    }
}

/// The analysis of every endpoint in every phase whose load is planned to be constant.
pub(crate) fn analyses(
    run: &dyn Run,
    workload: &Workload,
    figures: &Figures,
) -> Result<Vec<SteadyStateAnalysis>, ReadError> {
    let mut analyses = Vec::new();
    for phase in &figures.phases {
        let seconds = whole_seconds(phase, run.seconds());
        let is_plan_known = run.manifest().source.is_none();
        if is_plan_known && !workload.is_load_constant(phase.start, phase.end) {
            continue;
        }
        let in_phase = figures.endpoints().filter(|e| *e.key.phase == *phase.name && e.attempted() > 0);
        for key in in_phase.map(|endpoint| &endpoint.key) {
            let state = match (is_plan_known, seconds.len() < MIN_STEADY_S) {
                (false, _) => Err(NotSteadyReason::Untested),
                (_, true) => Err(NotSteadyReason::ShortPhase),
                _ => state(run, workload, key, &seconds)?,
            };
            analyses.push(SteadyStateAnalysis { key: key.clone(), seconds: seconds.clone(), state });
        }
    }
    Ok(analyses)
}

/// The seconds that are in the phase from their first instant to their last.
fn whole_seconds(phase: &PhaseWindow, recorded: u32) -> Seconds {
    let second = |nanos: u128| u32::try_from(nanos).unwrap_or(u32::MAX);
    let start = second(phase.start.as_nanos().div_ceil(1_000_000_000));
    start..second(phase.end.as_nanos() / 1_000_000_000).min(recorded).max(start)
}

/// Responses of one second.
#[derive(Debug, Default)]
struct SecondTimes {
    /// Times of successes.
    ok: Histogram,
    failed: u64,
}

impl SecondTimes {
    fn count(&self) -> u64 {
        self.ok.count() + self.failed
    }
}

type BySecond = BTreeMap<u32, SecondTimes>;

fn state(
    run: &dyn Run,
    workload: &Workload,
    endpoint: &RowKey,
    seconds: &Seconds,
) -> Result<Result<SteadyState, NotSteadyReason>, ReadError> {
    let mut by_second = BySecond::new();
    for (id, key) in select(run.keys(), Metric::ResponseTime, |key| is_of(key, endpoint)) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        for (second, times) in run.histograms(id, seconds.clone())? {
            let entry = by_second.entry(second).or_default();
            match outcome {
                Outcome::Ok => entry.ok.merge(&times),
                outcome if outcome.is_failure() => entry.failed += times.count(),
                _ => {}
            }
        }
    }
    let start = match latest_start(&by_second, seconds) {
        Ok(start) => start,
        Err(reason) => return Ok(Err(reason)),
    };
    let steady_from = seconds.start + start.start_s;
    if let Some(burst) = burst(&by_second, steady_from..seconds.end) {
        return Ok(Err(burst));
    }
    let after = times_from(run, workload, endpoint, steady_from)?;
    let SteadyStart { start_s, series, mser_s } = start;
    Ok(Ok(SteadyState { start_s, last_series: series, mser_s, after }))
}

fn is_of(key: &Key, endpoint: &RowKey) -> bool {
    key.phase == endpoint.phase && key.scenario == endpoint.scenario && key.endpoint == endpoint.endpoint
}

/// Where one series becomes steady.
struct SteadyStart {
    start_s: u32,
    series: &'static str,
    mser_s: Option<u32>,
}

/// The latest start of all series.
fn latest_start(by_second: &BySecond, seconds: &Seconds) -> Result<SteadyStart, NotSteadyReason> {
    let mut latest: Option<SteadyStart> = None;
    for (series, values) in log_series(by_second, seconds) {
        let steady = stats::steady(&values).map_err(|why| NotSteadyReason::Series(series, why))?;
        let start_s = steady.start_s as u32;
        if latest.as_ref().is_none_or(|latest| start_s > latest.start_s) {
            let mser_s = stats::mser_5(&values).map(|cut| cut as u32);
            latest = Some(SteadyStart { start_s, series, mser_s });
        }
    }
    latest.ok_or(NotSteadyReason::Untested)
}

/// The series that are analysed, with a value a second. Values are logarithms, so that differences are shares. p95 is
/// included only where a second has enough responses for it.
fn log_series(by_second: &BySecond, seconds: &Seconds) -> Vec<(&'static str, Vec<f64>)> {
    let mut counts: Vec<f64> = by_second.values().map(|times| times.count() as f64).collect();
    counts.resize(counts.len().max(seconds.len()), 0.0);
    let usual = stats::quantile(&counts, 0.5).unwrap_or(0.0);
    if usual < STEADY_MIN_RATE {
        return Vec::new();
    }
    // Seconds before the first success are not a low rate: no response was possible yet.
    let first = by_second.iter().find(|(_, times)| !times.ok.is_empty()).map_or(seconds.end, |(s, _)| *s);
    let none = SecondTimes::default();
    let values = |of: &dyn Fn(&SecondTimes) -> f64| -> Vec<f64> {
        let value = |second: u32| {
            if second < first { f64::NAN } else { of(by_second.get(&second).unwrap_or(&none)) }
        };
        seconds.clone().map(value).collect()
    };
    let quantile = |q| move |times: &SecondTimes| times.ok.quantile(q).finite_us().map_or(f64::NAN, f64::ln);
    let successes = |times: &SecondTimes| times.ok.count() as f64 + 0.5;
    let mut series = vec![
        ("p50", values(&quantile(0.5))),
        ("the rate of successes", values(&|times| successes(times).ln())),
        ("the share of successes", values(&|times| (successes(times) / (times.count() as f64 + 0.5)).ln())),
    ];
    if usual >= STEADY_P95_MIN_RATE {
        series.insert(1, ("p95", values(&quantile(0.95))));
    }
    series
}

/// A few seconds in which far more requests failed than in the rest.
fn burst(by_second: &BySecond, window: Seconds) -> Option<NotSteadyReason> {
    let sums = |window: Seconds| {
        let rows = by_second.range(window).map(|(_, times)| (times.count(), times.failed));
        rows.fold((0, 0), |(n, f), (count, failed)| (n + count, f + failed))
    };
    let (all, failed) = sums(window.clone());
    let mean = failed as f64 / all.max(1) as f64;
    window.clone().step_by(BURST_BATCH_S as usize).find_map(|at_s| {
        let (n, failed) = sums(at_s..(at_s + BURST_BATCH_S).min(window.end));
        let share = failed as f64 / n.max(1) as f64;
        let error = (mean * (1.0 - mean) / n.max(1) as f64).sqrt();
        let is_burst = share > mean + BURST.max(BURST_ERRORS * error);
        is_burst.then_some(NotSteadyReason::Burst { at_s, share, mean })
    })
}

/// The times of `endpoint` from `second` of the run on.
pub(crate) fn times_from(
    run: &dyn Run,
    workload: &Workload,
    endpoint: &RowKey,
    second: u32,
) -> Result<WindowTimes, ReadError> {
    let window = second..run.seconds();
    let mut times = WindowTimes::default();
    for (id, key) in run.keys() {
        match key.metric {
            Metric::ResponseTime if is_of(key, endpoint) => match key.outcome.unwrap_or(Outcome::Ok) {
                Outcome::Ok => times.ok.merge(&run.histogram(*id, window.clone())?),
                outcome if outcome.is_failure() => {
                    times.infinitely_slow += run.histogram(*id, window.clone())?.count();
                }
                _ => {}
            },
            Metric::DroppedCap | Metric::DroppedLate if is_dropped_for(key, endpoint, workload) => {
                let counts = run.counts(*id, window.clone())?;
                times.infinitely_slow += counts.iter().map(|(_, n)| n).sum::<u64>();
            }
            _ => {}
        }
    }
    Ok(times)
}

/// Whether an arrival that was dropped under `key` would have requested `endpoint`.
fn is_dropped_for(key: &Key, endpoint: &RowKey, workload: &Workload) -> bool {
    let is_step = || workload.steps_of_sequence(&key.scenario).iter().any(|s| *s.name == *endpoint.endpoint);
    let same = key.phase == endpoint.phase && key.scenario == endpoint.scenario;
    same && (key.endpoint == endpoint.endpoint || (key.endpoint.is_empty() && is_step()))
}
