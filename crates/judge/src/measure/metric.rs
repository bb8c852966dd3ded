//! Thresholds of scripts: the statistic of a metric as k6 evaluates it, its interval, and where there is none, why.

use evidence::metric::{MetricId, MetricSums};
use evidence::run::ReadError;
use evidence::{Ending, Key, Metric, Run, Seconds};
use figures::Figures;
use figures::number::brief;
use workload::{Comparison, MetricMeasure, MetricStatistic, Objective};

use super::source::MeasureSource;
use super::times::BATCH_S;
use super::{Measurement, UnknownPart, Value, ValueRange};
use crate::shares::LEAST_BATCHES;

/// k6's name of the counter of iterations that were due and never begun, which runs count by their cause.
const DROPPED_ITERATIONS: &str = "dropped_iterations";

/// k6's gauges of virtual users, which runs record in another form.
const READ_BY_TICKS: [&str; 2] = ["vus", "vus_max"];

/// The beginning of the names of metrics whose values are of single requests.
pub(super) const OF_REQUESTS: &str = "http_req";
/// k6's rate of requests that failed.
const REQUESTS_FAILED: &str = "http_req_failed";
/// k6's tag of whether a request succeeded: `true` or `false`.
const EXPECTED_RESPONSE: &str = "expected_response";
/// k6's tags of what a target responds; a run in which none has a certain value is as sound as another.
const OF_RESPONSES: [&str; 6] = [EXPECTED_RESPONSE, "status", "error", "error_code", "proto", "tls_version"];
/// The default of k6's time limit of a request.
const REQUEST_LIMIT_MS: f64 = 60_000.0;

/// The value of a threshold's metric.
pub(super) fn observe(
    source: &MeasureSource<'_>,
    objective: &Objective,
    measure: &MetricMeasure,
) -> Result<Measurement, ReadError> {
    let run = source.run;
    let mut all = sums(run, measure, run.whole())?;
    if measure.name == DROPPED_ITERATIONS {
        all.merge(&never_begun(source, measure)?);
    }
    let value = measure.statistic.value(&all, run.recorded());
    // A counter to which nothing was added is zero; of other metrics nothing is known then.
    let is_counter = matches!(measure.statistic, MetricStatistic::Sum | MetricStatistic::SumPerSecond);
    let is_known = is_counter || all.count > 0;
    let missing = || Value::Missing("No value was added to it: not measured is not zero.".to_owned());
    let shown = match is_known {
        true => Value::Finite(value),
        false => unselected(run, measure)?.map_or_else(missing, Value::Unselected),
    };
    let mut measurement = Measurement::new(shown, measure.unit(), all.count);
    measurement.unanswered = unanswered(source, objective, measure)?;
    let is_recorded = is_known || !READ_BY_TICKS.contains(&measure.name.as_str());
    // k6 takes what has no values as 0, except a rate, whose thresholds then hold.
    let holds = || {
        let is_rate_without_values = measure.statistic == MetricStatistic::NonzeroShare && all.count == 0;
        is_rate_without_values || objective.comparison.holds(value, objective.bound)
    };
    measurement.holds_in_k6 = is_recorded.then(holds);
    if measure.statistic == MetricStatistic::Mean && is_known {
        let batches: Vec<f64> = batches(source, measure)?
            .iter()
            .map(|batch| measure.statistic.value(batch, run.recorded()))
            .collect();
        measurement.interval =
            stats::batch_means(value, &batches).map(|interval| (interval.low, Some(interval.high)));
    }
    Ok(measurement)
}

/// The metrics of the run that a threshold is about.
pub(super) fn metrics<'a>(
    run: &'a dyn Run,
    measure: &'a MetricMeasure,
) -> impl Iterator<Item = MetricId> + 'a {
    run.metrics().iter().filter(|(_, key)| measure.counts(key)).map(|(id, _)| *id)
}

/// Why a threshold asks for nothing: nothing of the whole run has its tags, and values of its metric have others. None where that may be
/// otherwise: what the target responds is in the tags [`OF_RESPONSES`].
fn unselected(run: &dyn Run, measure: &MetricMeasure) -> Result<Option<String>, ReadError> {
    let is_whole = run.end().is_some_and(|end| end.ending == Ending::Completed);
    let chosen = || measure.tags.iter().filter(|(tag, _)| !OF_RESPONSES.contains(&tag.as_str()));
    if !is_whole || chosen().count() == 0 {
        return Ok(None);
    }
    let mut others = 0;
    for (id, _) in run.metrics().iter().filter(|(_, key)| *key.name == *measure.name) {
        others += run.metric(*id, run.whole())?.count;
    }
    let tags: Vec<String> = chosen().map(|(tag, value)| format!("{tag}:{value}")).collect();
    Ok((others > 0).then(|| {
        format!(
            "No value has the tags that it selects ({}), and {} of {} have others, so it asks for nothing; k6 takes it as met. Correct the \
             tags, or let the script set them.",
            tags.join(", "),
            brief::counted(others, "value"),
            measure.name
        )
    }))
}

/// What was added to them in a window.
fn sums(run: &dyn Run, measure: &MetricMeasure, window: Seconds) -> Result<MetricSums, ReadError> {
    let mut all = MetricSums::default();
    for id in metrics(run, measure) {
        all.merge(&run.metric(id, window.clone())?);
    }
    if measure.name == DROPPED_ITERATIONS {
        all = dropped(run, measure)?;
    }
    Ok(all)
}

/// Whether a threshold is about what happens in this scenario.
fn is_about(measure: &MetricMeasure, scenario: &str) -> bool {
    measure.tags.iter().all(|(tag, value)| tag == "scenario" && value == scenario)
}

fn counted(count: u64) -> MetricSums {
    MetricSums { count, nonzero: count, sum: count as f64, ..MetricSums::default() }
}

/// Iterations that were due and never begun, each as one value.
fn dropped(run: &dyn Run, measure: &MetricMeasure) -> Result<MetricSums, ReadError> {
    let is_dropped = |metric| matches!(metric, Metric::DroppedCap | Metric::DroppedLate | Metric::Dropped);
    let mut count = 0;
    for (id, key) in run.keys().iter().filter(|(_, key)| is_dropped(key.metric)) {
        count += if is_about(measure, &key.scenario) { run.total(*id)? } else { 0 };
    }
    Ok(counted(count))
}

/// Iterations of a given number that the scenario's time was too short for: k6 counts them, too, unless the run was ended early.
fn never_begun(source: &MeasureSource<'_>, measure: &MetricMeasure) -> Result<MetricSums, ReadError> {
    let run = source.run;
    let is_whole = run.end().is_some_and(|end| end.ending == Ending::Completed);
    let mut count = 0;
    for scenario in source.workload.scenarios.iter().filter(|_| is_whole) {
        let Some(asked) = scenario.executor.iterations().filter(|_| is_about(measure, &scenario.name)) else {
            continue;
        };
        let is_begun = |key: &Key| key.metric == Metric::Started && *key.scenario == *scenario.name;
        let mut begun = 0;
        for (id, _) in run.keys().iter().filter(|(_, key)| is_begun(key)) {
            begun += run.total(*id)?;
        }
        count += asked.saturating_sub(begun);
    }
    Ok(counted(count))
}

/// The values of each batch of the run's planned time that has any.
fn batches(source: &MeasureSource<'_>, measure: &MetricMeasure) -> Result<Vec<MetricSums>, ReadError> {
    let Seconds { start, end } = source.window(&Default::default());
    let count = (end - start) / BATCH_S;
    let mut all = Vec::new();
    for batch in 0..count {
        let from = start + batch * BATCH_S;
        // The remainder, and values after the window's end, belong to the last batch.
        let to = if batch + 1 == count { source.run.seconds() } else { from + BATCH_S };
        all.push(sums(source.run, measure, from..to)?);
    }
    all.retain(|batch| batch.count > 0);
    Ok(all)
}

/// Why a threshold has a number and no verdict; none where it has one.
fn unanswered(
    source: &MeasureSource<'_>,
    objective: &Objective,
    measure: &MetricMeasure,
) -> Result<Option<String>, ReadError> {
    let is_exact = matches!(objective.comparison, Comparison::Equal | Comparison::NotEqual);
    Ok(match measure.statistic {
        MetricStatistic::Last => {
            Some("a gauge's last value is a single one, which has no interval.".to_owned())
        }
        MetricStatistic::Min | MetricStatistic::Max => Some(
            "the lowest and the highest of one run's values have no interval; ask for a percentile."
                .to_owned(),
        ),
        MetricStatistic::Mean => {
            let count = batches(source, measure)?.len();
            (count < LEAST_BATCHES).then(|| {
                format!(
                    "a mean has an interval from {LEAST_BATCHES} batches of {BATCH_S} s on; this run has values in {count}."
                )
            })
        }
        MetricStatistic::Quantile(_) => is_exact.then(|| NOT_EXACT.to_owned()),
        MetricStatistic::NonzeroShare => {
            (is_exact && comparison_of_share(objective).is_none()).then(|| NOT_EXACT.to_owned())
        }
        MetricStatistic::Sum | MetricStatistic::SumPerSecond => None,
    })
}

const NOT_EXACT: &str = "no sample shows that a value is exactly a number, or that it is not.";

/// How a share is compared: `== 0` asks for none, and `== 1` for all. None where no sample can answer.
pub(super) fn comparison_of_share(objective: &Objective) -> Option<Comparison> {
    match objective.comparison {
        Comparison::Equal if objective.bound == 0.0 => Some(Comparison::AtMost),
        Comparison::Equal if objective.bound == 1.0 => Some(Comparison::AtLeast),
        Comparison::Equal | Comparison::NotEqual => None,
        comparison => Some(comparison),
    }
}

/// Between which values a mean lies: in its interval, lower by as much as stalls of the generator can have added, and higher by
/// the whole time limit of requests that failed.
pub(super) fn range(
    source: &MeasureSource<'_>,
    objective: &Objective,
    measure: &MetricMeasure,
    measured: &Measurement,
) -> Result<Option<ValueRange>, ReadError> {
    let of_mean = measured.interval.filter(|_| measure.statistic == MetricStatistic::Mean);
    let Some((low, Some(high))) = of_mean else {
        return Ok(None);
    };
    let added = if measure.is_of_times() { added_by_stalls(source, measure)? } else { 0.0 };
    let failed = of_failed_requests(source.run, measure, |sums| sums.count)? as f64;
    let holds = |value: f64| objective.comparison.holds(value, objective.bound);
    let unknown = match holds(low) == holds(high) {
        true if failed > 0.0 => UnknownPart::Failures,
        true => UnknownPart::Stalls,
        false => UnknownPart::Sample,
    };
    let of_all = |ms: f64| ms / measured.samples.max(1) as f64;
    let (low, high) = (low - of_all(added), high + of_all(failed * REQUEST_LIMIT_MS));
    Ok(Some(ValueRange { low, high, unknown }))
}

/// How many of the times that `counted` takes of a metric are of requests that failed: k6 counts these times as any other, and
/// a request that was never sent with 0 ms. Where the metric does not tell them apart, as many as failed in all.
pub(super) fn of_failed_requests(
    run: &dyn Run,
    measure: &MetricMeasure,
    counted: impl Fn(&MetricSums) -> u64,
) -> Result<u64, ReadError> {
    if !measure.name.starts_with(OF_REQUESTS) || !measure.is_of_times() {
        return Ok(0);
    }
    let (mut failed, mut untold) = (0, 0);
    for (id, key) in run.metrics().iter().filter(|(_, key)| measure.counts(key)) {
        let count = counted(&run.metric(*id, run.whole())?);
        match key.tags.get(EXPECTED_RESPONSE).map(|expected| &**expected) {
            Some("false") => failed += count,
            Some(_) => {}
            None => untold += count,
        }
    }
    let mut all_failed = 0;
    if untold > 0 {
        for (id, _) in run.metrics().iter().filter(|(_, key)| *key.name == *REQUESTS_FAILED) {
            all_failed += run.metric(*id, run.whole())?.nonzero;
        }
    }
    Ok(failed + untold.min(all_failed))
}

/// How many requests a script made, if none of them could be sent: k6 counts them as failed, and no target as received.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub(crate) fn unsent_requests(run: &dyn Run, figures: &Figures) -> Result<Option<u64>, ReadError> {
    let (mut made, mut failed) = (0, 0);
    for (id, _) in run.metrics().iter().filter(|(_, key)| *key.name == *REQUESTS_FAILED) {
        let sums = run.metric(*id, run.whole())?;
        (made, failed) = (made + sums.count, failed + sums.nonzero);
    }
    let has_sent = figures.endpoints().any(|row| row.ok.count() + row.failed_by_target() > 0);
    Ok((made > 0 && made == failed && !has_sent).then_some(made))
}

/// How many milliseconds stalls can have added to all values together.
fn added_by_stalls(source: &MeasureSource<'_>, measure: &MetricMeasure) -> Result<f64, ReadError> {
    let mut added = 0.0;
    for id in metrics(source.run, measure) {
        for (seconds, sums) in source.run.metric_intervals(id, source.run.whole())? {
            let delay_ms = delay_ms(source, seconds, &sums);
            added += (delay_ms * sums.count as f64).min(sums.sum);
        }
    }
    Ok(added)
}

/// By how many milliseconds stalls can have delayed each value of an interval, which are times.
pub(super) fn delay_ms(source: &MeasureSource<'_>, seconds: Seconds, sums: &MetricSums) -> f64 {
    let longest_us = (sums.max.max(0.0) * 1e3) as u64;
    source.disturbed.effect(seconds, longest_us).delay_us as f64 / 1e3
}
