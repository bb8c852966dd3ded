//! k6's metrics that Plimsoll records in another form: virtual users and dropped iterations.

use std::collections::BTreeMap;

use evidence::metric::{MetricKind, MetricSums};
use evidence::run::ReadError;
use evidence::{Ending, Instant, Key, Metric, Name, Run, SeriesKey};

use super::SeriesSums;
use crate::options::{ConsolidatedOptions, ScenarioShape};

/// Names and kinds of these metrics.
pub(super) const DERIVED: [(&str, MetricKind); 3] =
    [("dropped_iterations", MetricKind::Counter), ("vus", MetricKind::Gauge), ("vus_max", MetricKind::Gauge)];

/// Counters that k6 shows also of a run without a request.
const ALWAYS: [&str; 2] = ["data_received", "data_sent"];

fn no_bytes() -> MetricSums {
    let mut sums = MetricSums::default();
    sums.add(MetricKind::Counter, 0.0, Instant::EPOCH);
    sums
}

/// Their values in a run.
pub(super) fn derived(run: &dyn Run, options: &ConsolidatedOptions) -> Result<SeriesSums, ReadError> {
    let mut all = dropped(run, &options.offered)?;
    all.extend(ALWAYS.map(|name| (name.into(), BTreeMap::new(), no_bytes())));
    let (vus, most) = active(run)?;
    let early = options.requirements().early_vus;
    let mut vus_max = MetricSums::default();
    vus_max.add(MetricKind::Gauge, (early as f64).max(most), Instant::EPOCH);
    all.extend([("vus", vus), ("vus_max", vus_max)].map(|(name, sums)| (name.into(), BTreeMap::new(), sums)));
    Ok(all)
}

/// Iterations that were due and never begun, by scenario; and as in k6 those of a given number that the scenario's time was too
/// short for, unless the run was ended early.
fn dropped(run: &dyn Run, offered: &[ScenarioShape]) -> Result<SeriesSums, ReadError> {
    let mut by_scenario: BTreeMap<Name, MetricSums> = BTreeMap::new();
    let is_dropped = |metric| matches!(metric, Metric::DroppedCap | Metric::DroppedLate | Metric::Dropped);
    for (id, key) in run.keys().iter().filter(|(_, key)| is_dropped(key.metric)) {
        for (second, count) in run.counts(*id, run.whole())? {
            let sums = by_scenario.entry(key.scenario.clone()).or_default();
            sums.add(
                MetricKind::Counter,
                count as f64,
                Instant::from_nanos(u64::from(second) * 1_000_000_000),
            );
        }
    }
    let is_whole = run.end().is_some_and(|end| end.ending == Ending::Completed);
    for shape in offered.iter().filter(|_| is_whole) {
        let Some(asked) = shape.executor.iterations() else { continue };
        let never_begun = asked.saturating_sub(begun(run, &shape.name)?);
        if never_begun > 0 {
            let sums = by_scenario.entry(shape.name.as_str().into()).or_default();
            sums.add(MetricKind::Counter, never_begun as f64, Instant::EPOCH + run.recorded());
        }
    }
    let tagged = |(scenario, sums): (Name, MetricSums)| {
        let tags = BTreeMap::from([(Name::from("scenario"), scenario)]);
        ("dropped_iterations".into(), tags, sums)
    };
    Ok(by_scenario.into_iter().filter(|(_, sums)| sums.sum > 0.0).map(tagged).collect())
}

/// How many iterations of a scenario were begun.
fn begun(run: &dyn Run, scenario: &str) -> Result<u64, ReadError> {
    let is_begun = |key: &Key| key.metric == Metric::Started && *key.scenario == *scenario;
    let begun = run.keys().iter().filter(|(_, key)| is_begun(key));
    begun.map(|(id, _)| run.total(*id)).sum()
}

/// Virtual users with an iteration under way, second by second, and the most of them.
fn active(run: &dyn Run) -> Result<(MetricSums, f64), ReadError> {
    let mut by_second: BTreeMap<u32, f64> = BTreeMap::new();
    let is_active =
        |series: &&SeriesKey| &*series.target == SeriesKey::GENERATOR && &*series.name == "active";
    for series in run.series().iter().filter(is_active) {
        for sample in run.samples(series, run.whole())? {
            *by_second.entry(sample.at.second()).or_default() += sample.value;
        }
    }
    let mut sums = MetricSums::default();
    for (second, active) in by_second {
        sums.add(MetricKind::Gauge, active.round(), Instant::from_nanos(u64::from(second) * 1_000_000_000));
    }
    let most = sums.max;
    Ok((sums, most))
}
