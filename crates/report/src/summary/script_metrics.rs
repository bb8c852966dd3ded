//! The metrics that a script made.

use std::collections::BTreeMap;

use evidence::metric::{MetricKind, MetricSums};
use evidence::run::ReadError;
use evidence::{Name, Run};
use serde::Serialize;

use crate::number;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScriptMetric {
    /// How its values are read.
    pub kind: MetricKind,
    pub name: String,
    /// What its values belong to.
    pub tags: BTreeMap<String, String>,
    /// Over the whole run.
    #[serde(flatten)]
    pub numbers: MetricNumbers,
    /// In each phase in which it has values; none in files that do not record it.
    pub phases: Vec<PhaseNumbers>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseNumbers {
    pub phase: String,
    /// The numbers of the arrivals that were due in it.
    #[serde(flatten)]
    pub numbers: MetricNumbers,
}

/// The numbers of a metric. What its kind does not have is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricNumbers {
    pub count: u64,
    /// Of a counter: their sum.
    pub sum: Option<f64>,
    /// Of a gauge: the last value.
    pub last: Option<f64>,
    /// Of a gauge or a trend: the lowest value.
    pub min: Option<f64>,
    /// Of a gauge or a trend: the highest value.
    pub max: Option<f64>,
    /// Of a rate: the share of values that are not zero, 0 to 1.
    pub rate: Option<f64>,
    /// Of a trend: the mean.
    pub avg: Option<f64>,
    /// Of a trend: the median.
    pub p50: Option<f64>,
    /// Of a trend: the 95th percentile.
    pub p95: Option<f64>,
    /// Of a trend: the 99th percentile.
    pub p99: Option<f64>,
}

/// What a metric has by phase, in the order in which phases first had values.
type SumsByPhase = Vec<(Name, MetricSums)>;

/// Every metric of the run that has values, by name, tags and kind.
pub(super) fn of(run: &dyn Run) -> Result<Vec<ScriptMetric>, ReadError> {
    let mut metrics: BTreeMap<(&Name, &BTreeMap<Name, Name>, MetricKind), SumsByPhase> = BTreeMap::new();
    for (id, key) in run.metrics() {
        let sums = run.metric(*id, run.whole())?;
        if sums.count > 0 {
            let phases = metrics.entry((&key.name, &key.tags, key.kind)).or_default();
            phases.push((key.phase.clone(), sums));
        }
    }
    Ok(metrics
        .into_iter()
        .map(|((name, tags, kind), phases)| ScriptMetric {
            kind,
            name: name.to_string(),
            tags: tags.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            numbers: whole(kind, &phases),
            phases: by_phase(kind, &phases),
        })
        .collect())
}

fn whole(kind: MetricKind, phases: &SumsByPhase) -> MetricNumbers {
    let mut whole = MetricSums::default();
    phases.iter().for_each(|(_, sums)| whole.merge(sums));
    MetricNumbers::of(kind, &whole)
}

fn by_phase(kind: MetricKind, phases: &SumsByPhase) -> Vec<PhaseNumbers> {
    let known = phases.iter().filter(|(phase, _)| !phase.is_empty());
    let numbers = |(phase, sums): &(Name, MetricSums)| PhaseNumbers {
        phase: phase.to_string(),
        numbers: MetricNumbers::of(kind, sums),
    };
    known.map(numbers).collect()
}

/// The beginnings of the names of metrics that k6 itself makes.
const BUILT_IN: [&str; 11] = [
    "browser_",
    "checks",
    "data_received",
    "data_sent",
    "dropped_iterations",
    "group_duration",
    "grpc_",
    "http_req",
    "iteration",
    "vus",
    "ws_",
];

impl ScriptMetric {
    /// Whether k6 makes it, whatever the script does.
    pub(crate) fn is_built_in(&self) -> bool {
        BUILT_IN.iter().any(|name| self.name.starts_with(name))
    }

    /// The rows of a table: the metric over the whole run and, if it has values in several phases, in each of them.
    pub(crate) fn rows(&self) -> Vec<(String, MetricKind, &MetricNumbers)> {
        let tags: Vec<String> = self.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let tags = if tags.is_empty() { String::new() } else { format!("{{{}}}", tags.join(", ")) };
        let label = format!("{}{tags}", self.name);
        let of_phase = |of: &'_ PhaseNumbers| format!("{label} in {}", of.phase);
        let shown = if self.phases.len() > 1 { self.phases.as_slice() } else { &[] };
        let phases = shown.iter().map(|of| (of_phase(of), self.kind, &of.numbers));
        std::iter::once((label.clone(), self.kind, &self.numbers)).chain(phases).collect()
    }
}

impl MetricNumbers {
    fn of(kind: MetricKind, sums: &MetricSums) -> MetricNumbers {
        let of = |kinds: &[MetricKind], value: f64| kinds.contains(&kind).then_some(value);
        let (counter, gauge, trend) = (&[MetricKind::Counter], &[MetricKind::Gauge], &[MetricKind::Trend]);
        let extremes = &[MetricKind::Gauge, MetricKind::Trend];
        let quantile = |q| sums.quantile(q).filter(|_| kind == MetricKind::Trend);
        let count = sums.count as f64;
        MetricNumbers {
            count: sums.count,
            sum: of(counter, sums.sum),
            last: of(gauge, sums.last),
            min: of(extremes, sums.min),
            max: of(extremes, sums.max),
            rate: of(&[MetricKind::Rate], sums.nonzero as f64 / count),
            avg: of(trend, sums.sum / count),
            p50: quantile(0.5),
            p95: quantile(0.95),
            p99: quantile(0.99),
        }
    }

    /// What a table has of them, under [`MetricNumbers::HEADS`].
    pub(crate) fn cells(&self) -> [String; 7] {
        let rate = self.rate.map(|rate| format!("{} not 0", number::percent(rate, 1.0)));
        let number =
            |value: Option<f64>| number::or_not_measured(value, |value| number::significant(value, 3));
        let total = rate.unwrap_or_else(|| number(self.sum.or(self.last)));
        let [avg, min, p50, p95, p99, max] =
            [self.avg, self.min, self.p50, self.p95, self.p99, self.max].map(number);
        [total, avg, min, p50, p95, p99, max]
    }

    /// The heads of its cells, with the ranks of their columns.
    pub(crate) const HEADS: [(&str, u8); 7] =
        [("sum, last or share", 0), ("avg", 1), ("min", 6), ("p50", 2), ("p95", 0), ("p99", 4), ("max", 3)];
}

#[cfg(test)]
mod tests {
    use evidence::Instant;

    use super::*;

    #[test]
    fn each_kind_shows_the_numbers_that_it_has() {
        let shown = |kind, values: &[f64]| {
            let mut sums = MetricSums::default();
            values.iter().for_each(|value| sums.add(kind, *value, Instant::EPOCH));
            MetricNumbers::of(kind, &sums).cells().join(" ")
        };
        assert_eq!(shown(MetricKind::Counter, &[0.5, 2.0]), "2.50 – – – – – –");
        assert_eq!(shown(MetricKind::Rate, &[0.0, 1.0, 3.0, 0.0]), "50.0 % not 0 – – – – – –");
        assert_eq!(shown(MetricKind::Gauge, &[4.0, -1.0]), "−1.00 – −1.00 – – – 4.00");
        assert_eq!(shown(MetricKind::Trend, &[2.0, 2.0]), "– 2.00 2.00 2.00 2.00 2.00 2.00");
    }
}
