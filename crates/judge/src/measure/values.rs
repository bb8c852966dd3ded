//! Between which values a mean, a highest or a lowest time lies, whatever the failures and the arrivals that stalls
//! disturbed would have taken.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::run::{ReadError, select};
use evidence::{Histogram, Metric, Outcome};
use figures::{RowKey, metric_of};
use workload::{Measure, Objective, Statistic};

use super::ranges::perturbed;
use super::source::MeasureSource;
use super::times::Observations;
use super::unread;

/// The lowest and the highest value, in milliseconds, and why they differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ValueRange {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) unknown: UnknownPart,
}

/// Why a value is not known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownPart {
    /// Requests failed or were dropped.
    Failures,
    /// Records of an imported source are missing, not readable or contradicted.
    Unread,
    /// Requests were under way while the generator stalled.
    Stalls,
    /// It is somewhere in its bucket.
    Rounding,
    /// It is known within the interval of a sample.
    Sample,
}

/// The range of a statistic of successes. A failure may have taken any time up to its limit.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(super) fn observe(
    source: &MeasureSource<'_>,
    objective: &Objective,
) -> Result<Option<ValueRange>, ReadError> {
    let (Measure::ResponseTime(statistic)
    | Measure::ServiceTime(statistic)
    | Measure::IterationTime(statistic)) = objective.measure
    else {
        return Ok(None);
    };
    let seen = Observations::of(source.figures, objective);
    let unread = unread::count(source, metric_of(&objective.measure), &objective.filter);
    let failures = (seen.infinitely_slow + unread.more) as f64;
    let limit = longest_limit(source, objective).filter(|_| unread.is_zero());
    let limit_us = limit.map_or(f64::INFINITY, |limit| limit.as_secs_f64() * 1e6);
    let calm = undisturbed(source, objective, &seen.times)?;
    let has_failures = failures > 0.0 || unread.doubtful > 0;
    let is_calm = calm.values().map(|bucket| bucket.count).sum::<u64>() == seen.times.count();
    let (low_us, high_us) = match statistic {
        Statistic::Quantile(_) => return Ok(None),
        Statistic::Mean => {
            let all = seen.times.count() as f64 + failures;
            let sum = |low: u64, high: u64, count: u64| (low + high) as f64 / 2.0 * count as f64;
            let calm: f64 = calm.iter().map(|(low, bucket)| sum(*low, bucket.high, bucket.count)).sum();
            let ok: f64 = seen.times.buckets().map(|(low, high, count)| sum(low, high, count)).sum();
            let slowest = if has_failures { failures.max(1.0) * limit_us } else { 0.0 };
            (calm / all, (ok + slowest) / all)
        }
        Statistic::Max => {
            let low = calm.last_key_value().map_or(0.0, |(low, _)| *low as f64);
            let high = seen.times.max_us().map_or(0.0, |us| us as f64);
            (low, if has_failures { high.max(limit_us) } else { high })
        }
        Statistic::Min => {
            let low = seen.times.min_us().map_or(0.0, |us| us as f64);
            let high = seen.times.min_us().map_or(0.0, |us| Histogram::bucket_of(us).1 as f64);
            (if is_calm && !has_failures { low } else { 0.0 }, high)
        }
    };
    // Any of the times that were read may be among those that are contradicted.
    let low_us = if unread.doubtful > 0 { 0.0 } else { low_us };
    let unknown = match (has_failures, is_calm) {
        _ if !unread.is_zero() => UnknownPart::Unread,
        (true, _) => UnknownPart::Failures,
        (false, false) => UnknownPart::Stalls,
        (false, true) => UnknownPart::Rounding,
    };
    Ok(Some(ValueRange { low: low_us / 1e3, high: high_us / 1e3, unknown }))
}

/// Successes of one bucket.
struct Bucket {
    high: u64,
    count: u64,
}

/// Successes that no stall disturbed, by the lowest time of their bucket. Which service times were disturbed is not known:
/// the longest may have been.
fn undisturbed(
    source: &MeasureSource<'_>,
    objective: &Objective,
    all: &Histogram,
) -> Result<BTreeMap<u64, Bucket>, ReadError> {
    let metric = metric_of(&objective.measure);
    let run = source.run;
    let is_counted = |key: &evidence::Key| {
        key.outcome.unwrap_or(Outcome::Ok) == Outcome::Ok && RowKey::from(key).matches(&objective.filter)
    };
    let mut hidden = Histogram::new();
    for (id, _) in select(run.keys(), perturbed(metric), is_counted) {
        hidden.merge(&run.histogram(id, run.whole())?);
    }
    for (id, _) in select(run.keys(), metric, is_counted).filter(|_| source.disturbed.hides_any()) {
        for (_, times) in
            run.histograms(id, run.whole())?.iter().filter(|(s, _)| source.disturbed.may_hide(*s))
        {
            hidden.merge(times);
        }
    }
    let mut buckets: BTreeMap<u64, Bucket> =
        all.buckets().map(|(low, high, count)| (low, Bucket { high, count })).collect();
    if metric == Metric::ServiceTime {
        let mut left = hidden.count();
        for bucket in buckets.values_mut().rev() {
            let taken = bucket.count.min(left);
            (bucket.count, left) = (bucket.count - taken, left - taken);
        }
    } else {
        for (low, _, count) in hidden.buckets() {
            if let Some(bucket) = buckets.get_mut(&low) {
                bucket.count = bucket.count.saturating_sub(count);
            }
        }
    }
    buckets.retain(|_, bucket| bucket.count > 0);
    Ok(buckets)
}

/// The longest time limit of the requests that an objective counts; none where it is not known, and for iterations.
fn longest_limit(source: &MeasureSource<'_>, objective: &Objective) -> Option<Duration> {
    let is_of_requests = metric_of(&objective.measure) != Metric::IterationTime;
    let steps = source.workload.scenarios.iter().flat_map(|scenario| scenario.steps());
    let is_counted =
        |name: &str| objective.filter.endpoint.as_deref().is_none_or(|endpoint| endpoint == name);
    steps.filter(|step| is_of_requests && is_counted(&step.name)).map(|step| step.timeout).max()
}
