//! How endpoints went, second by second, through phases in which the load that was asked for stayed the same: where
//! they settle, and what they come to from there on.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::run::{ReadError, select};
use evidence::{Histogram, Key, Metric, Outcome, Run, Seconds};
use stats::NotSteady;
use stats::steady::MIN_STEADY_S;
use workload::{Executor, Scenario, Schedule, VuRamp, Workload};

use super::tables::{Cell, Place, Span, Tables, steps_of_sequence};
use crate::thresholds::{BURST, BURST_BATCH_S, COURSE_P95_RATE, COURSE_RATE};

/// By how much a rate may change and be called constant.
const CONSTANT: f64 = 0.01;
/// A burst of failures is so many standard errors beyond the mean.
const BURST_ERRORS: f64 = 4.0;

/// How an endpoint went through a phase.
#[derive(Debug)]
pub(crate) struct Course {
    pub(crate) place: Place,
    /// The whole seconds of its phase.
    pub(crate) seconds: Seconds,
    pub(crate) state: Result<Settled, Unsettled>,
}

/// Where it settles, in seconds from the beginning of [`Course::seconds`].
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) start_s: u32,
    /// The series that settles last, in words.
    pub(crate) last: &'static str,
    /// The cut that MSER-5 makes of the same series, if it makes one.
    pub(crate) mser_s: Option<u32>,
    /// What comes from there on.
    pub(crate) after: Kept,
}

/// Why it does not.
#[derive(Debug)]
pub(crate) enum Unsettled {
    /// A series of it is not steady.
    Series(&'static str, NotSteady),
    /// Too many of these seconds' requests failed, and of the others not.
    Burst { at_s: u32, share: f64, mean: f64 },
    /// Nobody knows whether the load was to stay the same, or it has too few requests a second.
    Untested,
}

/// What responses in a window come to.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) ok: Histogram,
    /// Failed and dropped.
    pub(crate) missed: u64,
}

impl Kept {
    /// The `q`-quantile, in milliseconds; what was missed counts as infinitely slow.
    pub(crate) fn quantile_ms(&self, q: f64) -> Option<f64> {
        self.ok.quantile_with(q, self.missed).finite_us().map(|us| us / 1_000.0)
    }
}

/// The course of every endpoint in every phase whose load does not change on purpose.
pub(super) fn courses(
    run: &dyn Run,
    (workload, tables): (&Workload, &Tables),
) -> Result<Vec<Course>, ReadError> {
    let mut courses = Vec::new();
    for span in &tables.spans {
        let seconds = whole_seconds(span, run.seconds());
        let is_known = run.manifest().source.is_none();
        if is_known && !is_constant(workload, span) {
            continue;
        }
        for cell in tables.cells.iter().filter(|cell| *cell.place.phase == *span.name && cell.asked() > 0) {
            let state = match (is_known, seconds.len() < MIN_STEADY_S) {
                (false, _) => Err(Unsettled::Untested),
                (_, true) => Err(Unsettled::Series("", NotSteady::TooShort { steady_s: seconds.len() })),
                _ => state(run, workload, (cell, &seconds))?,
            };
            courses.push(Course { place: cell.place.clone(), seconds: seconds.clone(), state });
        }
    }
    Ok(courses)
}

/// The seconds that lie in the phase from their first instant to their last.
fn whole_seconds(span: &Span, recorded: u32) -> Seconds {
    let second = |nanos: u128| u32::try_from(nanos).unwrap_or(u32::MAX);
    let start = second(span.start.as_nanos().div_ceil(1_000_000_000));
    start..second(span.end.as_nanos() / 1_000_000_000).min(recorded).max(start)
}

/// Whether no scenario's load changes on purpose within the phase, by so much as beginning or ending in it.
fn is_constant(workload: &Workload, span: &Span) -> bool {
    workload.scenarios.iter().all(|scenario| {
        let asked = asked_by_second(scenario, span);
        let (least, most) =
            asked.iter().fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), a| (l.min(*a), m.max(*a)));
        most - least.min(most) <= CONSTANT * most
    })
}

/// What a scenario asks for in the middle of each second of the phase: arrivals a second, or virtual users.
fn asked_by_second(scenario: &Scenario, span: &Span) -> Vec<f64> {
    let schedule = Schedule::new(&scenario.executor);
    let ramp = match &scenario.executor {
        Executor::RampingVus { start_vus, stages, .. } => Some(VuRamp::new(*start_vus, stages)),
        _ => None,
    };
    let end = scenario.start + scenario.executor.duration();
    let asked = |at: Duration| match (&schedule, &ramp, at.checked_sub(scenario.start)) {
        (_, _, None) => 0.0,
        _ if at >= end => 0.0,
        (Some(schedule), _, Some(into)) => schedule.rate_at(into),
        (_, Some(ramp), Some(into)) => f64::from(ramp.vus_at(into)),
        _ => scenario.executor.peak_vus().map_or(0.0, f64::from),
    };
    let middle = |second: u32| Duration::from_millis(u64::from(second) * 1_000 + 500);
    span.seconds().map(middle).filter(|at| span.start <= *at && *at < span.end).map(asked).collect()
}

/// A second of an endpoint: times of successes, and how many failed.
type BySecond = BTreeMap<u32, (Histogram, u64)>;

fn state(
    run: &dyn Run,
    workload: &Workload,
    (cell, seconds): (&Cell, &Seconds),
) -> Result<Result<Settled, Unsettled>, ReadError> {
    let mut by_second = BySecond::new();
    for (id, key) in select(run.keys(), Metric::ResponseTime, |key| is_of(key, &cell.place)) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        for (second, times) in run.histograms(id, seconds.clone())? {
            let entry = by_second.entry(second).or_default();
            match outcome {
                Outcome::Ok => entry.0.merge(&times),
                outcome if outcome.is_failure() => entry.1 += times.count(),
                _ => {}
            }
        }
    }
    let (start_s, last, mser_s) = match settled(&by_second, seconds) {
        Ok(settled) => settled,
        Err(unsettled) => return Ok(Err(unsettled)),
    };
    if let Some(burst) = burst(&by_second, seconds.start + start_s..seconds.end) {
        return Ok(Err(burst));
    }
    let after = after(run, workload, (&cell.place, seconds.start + start_s))?;
    Ok(Ok(Settled { start_s, last, mser_s, after }))
}

fn is_of(key: &Key, place: &Place) -> bool {
    key.phase == place.phase && key.scenario == place.scenario && key.endpoint == place.endpoint
}

/// The latest start over the series, whose it is, and MSER-5's.
fn settled(by_second: &BySecond, seconds: &Seconds) -> Result<(u32, &'static str, Option<u32>), Unsettled> {
    let mut latest: Option<(u32, &'static str, Option<u32>)> = None;
    for (name, values) in series(by_second, seconds) {
        let steady = stats::steady(&values).map_err(|why| Unsettled::Series(name, why))?;
        let start_s = steady.start_s as u32;
        if latest.is_none_or(|(known, ..)| start_s > known) {
            latest = Some((start_s, name, stats::mser_5(&values).map(|cut| cut as u32)));
        }
    }
    latest.ok_or(Unsettled::Untested)
}

/// What is looked at, a value a second: logarithms, so that differences are shares. A quantile of a handful of times
/// is luck, so it is looked at only where there are enough.
fn series(by_second: &BySecond, seconds: &Seconds) -> Vec<(&'static str, Vec<f64>)> {
    let count = |ok: &Histogram, failed: u64| (ok.count() + failed) as f64;
    let mut counts: Vec<f64> = by_second.values().map(|(ok, failed)| count(ok, *failed)).collect();
    counts.resize(counts.len().max(seconds.len()), 0.0);
    let usual = stats::quantile(&counts, 0.5).unwrap_or(0.0);
    if usual < COURSE_RATE {
        return Vec::new();
    }
    // Before the first answer nothing could come back: that is no low rate.
    let first = by_second.iter().find(|(_, (ok, _))| !ok.is_empty()).map_or(seconds.end, |(s, _)| *s);
    let none = (Histogram::new(), 0);
    let values = |of: &dyn Fn(&Histogram, u64) -> f64| -> Vec<f64> {
        seconds
            .clone()
            .map(|second| {
                let (ok, failed) = by_second.get(&second).unwrap_or(&none);
                if second < first { f64::NAN } else { of(ok, *failed) }
            })
            .collect()
    };
    let quantile = |q| move |ok: &Histogram, _| ok.quantile(q).finite_us().map_or(f64::NAN, f64::ln);
    let mut series = vec![
        ("p50", values(&quantile(0.5))),
        ("the rate of successes", values(&|ok, _| (ok.count() as f64 + 0.5).ln())),
        (
            "the share of successes",
            values(&|ok, failed| ((ok.count() as f64 + 0.5) / (count(ok, failed) + 0.5)).ln()),
        ),
    ];
    if usual >= COURSE_P95_RATE {
        series.insert(1, ("p95", values(&quantile(0.95))));
    }
    series
}

/// A few seconds in which far more failed than in the rest.
fn burst(by_second: &BySecond, window: Seconds) -> Option<Unsettled> {
    let sums = |window: Seconds| {
        let rows = by_second.range(window).map(|(_, (ok, failed))| (ok.count() + failed, *failed));
        rows.fold((0, 0), |(n, f), (count, failed)| (n + count, f + failed))
    };
    let (all, failed) = sums(window.clone());
    let mean = failed as f64 / all.max(1) as f64;
    window.clone().step_by(BURST_BATCH_S as usize).find_map(|from| {
        let (n, failed) = sums(from..(from + BURST_BATCH_S).min(window.end));
        let share = failed as f64 / n.max(1) as f64;
        let error = (mean * (1.0 - mean) / n.max(1) as f64).sqrt();
        let at_s = from;
        (share > mean + BURST.max(BURST_ERRORS * error)).then_some(Unsettled::Burst { at_s, share, mean })
    })
}

/// What `place` comes to from `second` of the run on.
pub(crate) fn after(
    run: &dyn Run,
    workload: &Workload,
    (place, second): (&Place, u32),
) -> Result<Kept, ReadError> {
    let window = second..run.seconds();
    let mut kept = Kept::default();
    for (id, key) in run.keys() {
        match key.metric {
            Metric::ResponseTime if is_of(key, place) => match key.outcome.unwrap_or(Outcome::Ok) {
                Outcome::Ok => kept.ok.merge(&run.histogram(*id, window.clone())?),
                outcome if outcome.is_failure() => {
                    kept.missed += run.histogram(*id, window.clone())?.count();
                }
                _ => {}
            },
            Metric::DroppedCap | Metric::DroppedLate if is_dropped_of(key, place, workload) => {
                kept.missed += run.counts(*id, window.clone())?.iter().map(|(_, n)| n).sum::<u64>();
            }
            _ => {}
        }
    }
    Ok(kept)
}

/// Whether an arrival that was dropped under `key` would have come to `place`.
fn is_dropped_of(key: &Key, place: &Place, workload: &Workload) -> bool {
    let is_step = || steps_of_sequence(workload, &key.scenario).iter().any(|s| *s.name == *place.endpoint);
    let same = key.phase == place.phase && key.scenario == place.scenario;
    same && (key.endpoint == place.endpoint || (key.endpoint.is_empty() && is_step()))
}
