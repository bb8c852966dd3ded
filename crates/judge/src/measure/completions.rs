//! Throughput and goodput: requests that ended in the window of a phase, per second of it, with their limits.

use std::time::Duration;

use evidence::run::{ReadError, select};
use evidence::{ClaimRate, Histogram, Key, Metric, Outcome, PhaseSpan, Verdict, Widening, WideningCause};
use figures::{RowKey, is_any_or};
use stats::{RateLimits, RateWindow};
use workload::{Filter, Objective, Schedule};

use super::bound::{Bound, TimeBound};
use super::ranges::{Ranges, TimeQuery, is_cap_ample};
use super::source::MeasureSource;
use super::times::dropped_observations;
use super::{Measurement, Value, rates};

/// Why there is no rate.
const NOTHING_DUE: &str = "No request it counts was due: not measured is not zero.";

/// Completions a second, and what decides an objective on them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateMeasurement {
    /// Per second of the windows of all phases that it counts.
    pub(crate) per_s: f64,
    pub(crate) windows: Vec<RateWindow>,
    /// The confidence of each limit, one-sided.
    pub(crate) confidence: f64,
    /// None where no phase has three whole seconds.
    pub(crate) limits: Option<RateLimits>,
    /// How many more a second there may have been, had the generator not stalled or dropped arrivals.
    pub(crate) may_be_more: f64,
    /// Whether seconds in which a phase begins or ends count in proportion: the run file does not say more.
    pub(crate) is_proportional: bool,
}

impl RateMeasurement {
    /// The same with limits of this confidence.
    pub(crate) fn at(&self, confidence: f64) -> RateMeasurement {
        let limits = limits(self.per_s, &self.windows, confidence);
        RateMeasurement { confidence, limits, ..self.clone() }
    }

    pub(crate) fn claim(&self) -> ClaimRate {
        ClaimRate {
            lower: self.limits.map(|limits| limits.lower),
            upper: self.limits.map(|limits| limits.upper + self.may_be_more),
            confidence: self.confidence,
            may_be_more: self.may_be_more,
            is_proportional: self.is_proportional,
        }
    }

    /// Whether the objective is met or violated at both limits.
    pub(crate) fn verdict(&self, objective: &Objective) -> Verdict {
        let Some(RateLimits { lower, upper }) = self.limits else { return Verdict::Inconclusive };
        let holds = |per_s: f64| objective.comparison.holds(per_s, objective.bound);
        let decided = |upper: f64| match (holds(lower), holds(upper)) {
            (true, true) => Some(Verdict::Pass),
            (false, false) => Some(Verdict::Fail),
            _ => None,
        };
        let by_observed = || decided(upper).map_or(Verdict::Inconclusive, |_| Verdict::Invalid);
        decided(upper + self.may_be_more).unwrap_or_else(by_observed)
    }
}

/// No rate is below zero, however much seconds vary.
fn limits(per_s: f64, windows: &[RateWindow], confidence: f64) -> Option<RateLimits> {
    let limits = stats::rate_limits(per_s, windows, confidence)?;
    Some(RateLimits { lower: limits.lower.max(0.0), ..limits })
}

struct WindowSeconds {
    span: PhaseSpan,
    total: f64,
    whole: Vec<f64>,
}

/// Completions a second, successful or not.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(super) fn throughput(source: &MeasureSource<'_>, filter: &Filter) -> Result<Measurement, ReadError> {
    let may_be_more = late_drops(source, filter)?;
    measured(source, filter, &|_, times| times.count(), may_be_more)
}

/// Successes a second, within a time limit if there is one. A success counts when its whole histogram bucket is within
/// the limit, so that rounding never counts one that was too slow.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(super) fn goodput(
    source: &MeasureSource<'_>,
    filter: &Filter,
    within: Option<Duration>,
) -> Result<Measurement, ReadError> {
    if let Some(missing) = rates::without_outcomes(source.figures) {
        return Ok(Measurement::new(missing, "1/s", 0));
    }
    let limit_us = within.map_or(u128::MAX, |limit| limit.as_micros());
    let good = |outcome: Outcome, times: &Histogram| -> u64 {
        let buckets = times.buckets().filter(|(_, high, _)| u128::from(*high) <= limit_us);
        if outcome == Outcome::Ok { buckets.map(|(_, _, count)| count).sum() } else { 0 }
    };
    let may_be_more = late_drops(source, filter)? + kept_from_success(source, filter, within)?;
    measured(source, filter, &good, may_be_more)
}

fn measured(
    source: &MeasureSource<'_>,
    filter: &Filter,
    count: &dyn Fn(Outcome, &Histogram) -> u64,
    may_be_more: u64,
) -> Result<Measurement, ReadError> {
    let windows = active_windows(source, filter, count)?;
    let length_s: f64 = windows.iter().map(|window| window.span.length_s()).sum();
    if length_s <= 0.0 {
        return Ok(Measurement::new(Value::Missing(NOTHING_DUE.to_owned()), "1/s", 0));
    }
    let total: f64 = windows.iter().map(|window| window.total).sum();
    let confidence = source.confidence();
    let windows: Vec<RateWindow> =
        windows.into_iter().map(|window| rate_window(source, filter, window)).collect();
    let per_s = total / length_s;
    let rate = RateMeasurement {
        per_s,
        limits: limits(per_s, &windows, confidence),
        windows,
        confidence,
        may_be_more: may_be_more as f64 / length_s,
        is_proportional: source.workload.windows(source.run)?.are_proportional(),
    };
    let mut measurement = Measurement::new(Value::Finite(per_s), "1/s", total.round() as u64);
    measurement.rate = Some(rate);
    Ok(measurement)
}

/// The windows in which anything that the filter counts was due, with what it counts that ended in each.
fn active_windows(
    source: &MeasureSource<'_>,
    filter: &Filter,
    count: &dyn Fn(Outcome, &Histogram) -> u64,
) -> Result<Vec<WindowSeconds>, ReadError> {
    let (run, figures) = (source.run, source.figures);
    let windows = source.workload.windows(run)?;
    let empty = |span: &PhaseSpan| WindowSeconds {
        span: span.clone(),
        total: 0.0,
        whole: vec![0.0; span.whole_seconds().len().min(run.seconds() as usize)],
    };
    let mut all: Vec<WindowSeconds> = windows.spans().iter().map(empty).collect();
    let any_phase = Filter { phase: None, ..filter.clone() };
    let is_its = |key: &Key| RowKey::from(key).matches(&any_phase);
    let ended = [Metric::ResponseTime, Metric::MovedResponseTime];
    for (id, key) in ended.into_iter().flat_map(|metric| select(run.keys(), metric, is_its)) {
        let outcome = key.outcome.unwrap_or(Outcome::Ok);
        if outcome == Outcome::Cancelled {
            continue;
        }
        for (second, times) in run.histograms(id, run.whole())? {
            let counted = count(outcome, &times) as f64;
            for (window, share) in windows.shares(key, second) {
                let WindowSeconds { span, total, whole } = &mut all[window];
                *total += counted * share;
                let at = second.checked_sub(span.whole_seconds().start).map(|at| at as usize);
                if let Some(of_second) = at.and_then(|at| whole.get_mut(at)) {
                    *of_second += counted * share;
                }
            }
        }
    }
    let is_active = |name: &str| {
        let its = figures.endpoints().filter(|row| *row.key.phase == *name && row.key.matches(filter));
        its.map(|row| row.begun() + row.attempted() + row.dropped()).sum::<u64>() > 0
    };
    all.retain(|window| is_active(&window.span.name));
    Ok(all)
}

/// The window with what the plan offers in its seconds, of what the filter counts.
fn rate_window(source: &MeasureSource<'_>, filter: &Filter, window: WindowSeconds) -> RateWindow {
    let begin = window.span.whole_seconds().start;
    let scenarios = source.workload.scenarios.iter();
    let counted: Vec<_> = scenarios
        .filter(|scenario| is_any_or(filter.scenario.as_ref(), &scenario.name))
        .filter_map(|scenario| Some((scenario.start, Schedule::new(&scenario.executor)?)))
        .collect();
    let planned = |second: u32| -> f64 {
        let of = |(start, schedule): &(Duration, Schedule)| {
            let since = |second: u32| Duration::from_secs(second.into()).saturating_sub(*start);
            schedule.arrivals_between(since(second), since(second + 1)) as f64
        };
        counted.iter().map(of).sum()
    };
    let planned = (begin..).take(window.whole.len()).map(planned).collect();
    RateWindow { length_s: window.span.length_s(), seconds: window.whole, planned }
}

/// How many more may have ended under a generator that never was late. One that offers more to a target that does not keep up
/// makes it answer no more.
fn late_drops(source: &MeasureSource<'_>, filter: &Filter) -> Result<u64, ReadError> {
    let mut all = 0;
    for (id, key) in select(source.run.keys(), Metric::DroppedLate, |_| true) {
        if !source.backlogs.iter().any(|backlog| backlog.is_of(key)) {
            let observations = dropped_observations(source, Metric::ResponseTime, filter, key);
            all += observations * source.run.total(id)?;
        }
    }
    Ok(all)
}

/// How many more may have ended well, and in time, had the generator not stalled.
fn kept_from_success(
    source: &MeasureSource<'_>,
    filter: &Filter,
    within: Option<Duration>,
) -> Result<u64, ReadError> {
    let limit = |limit: Duration| Bound::Time(TimeBound { us: limit.as_micros() as f64, is_strict: false });
    let bounds = [within.map_or(Bound::Failure, limit)];
    let query = TimeQuery { metric: Metric::ResponseTime, filter, bounds: &bounds };
    let causes = [WideningCause::Perturbed, WideningCause::AtBound];
    let widened = Ranges::read(source, &query)?.widened_by();
    let its = widened.iter().filter(|widening| causes.contains(&widening.cause));
    let requests: u64 = its.map(|widening: &Widening| widening.arrivals).sum();
    Ok(requests + drops_at_cap(source, filter, bounds[0])?)
}

/// Arrivals that found the limit on virtual users reached, because it is too low, or because a stall came before. Where there
/// were such in the second before too, the target has not kept up for longer than a stall lasts.
fn drops_at_cap(source: &MeasureSource<'_>, filter: &Filter, bound: Bound) -> Result<u64, ReadError> {
    let run = source.run;
    let mut all = 0;
    for (id, key) in select(run.keys(), Metric::DroppedCap, |_| true) {
        let observations = dropped_observations(source, Metric::ResponseTime, filter, key);
        let scenario = source.workload.scenarios.iter().find(|scenario| *scenario.name == *key.scenario);
        let is_ample = scenario.is_none_or(|scenario| is_cap_ample(scenario, bound));
        let seconds = if observations > 0 { run.counts(id, run.whole())? } else { Vec::new() };
        let mut before = None;
        for (second, dropped) in seconds {
            let is_first = before.replace(second).is_none_or(|before: u32| before + 1 < second);
            all += match (is_ample, is_first) {
                (false, _) => observations * dropped,
                (true, true) => {
                    (observations as f64 * dropped as f64 * source.disturbed.share(second)).ceil() as u64
                }
                (true, false) => 0,
            };
        }
    }
    Ok(all)
}
