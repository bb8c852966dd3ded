//! The metrics that a script made.

use std::collections::BTreeMap;

use evidence::Run;
use evidence::metric::{MetricKey, MetricKind, MetricSums};
use evidence::run::ReadError;
use serde::Serialize;

use crate::number;

/// A metric over the whole run. What its kind does not have is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScriptMetric {
    /// How its values are read.
    pub kind: MetricKind,
    /// Its name.
    pub name: String,
    /// What its values belong to.
    pub tags: BTreeMap<String, String>,
    /// How many values.
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

/// Every metric of the run that has values, by name, tags and kind.
pub(super) fn of(run: &dyn Run) -> Result<Vec<ScriptMetric>, ReadError> {
    let mut keys: Vec<_> = run.metrics().iter().collect();
    keys.sort_by(|(_, a), (_, b)| (&a.name, &a.tags, a.kind).cmp(&(&b.name, &b.tags, b.kind)));
    let mut metrics = Vec::new();
    for (id, key) in keys {
        let sums = run.metric(*id, run.whole())?;
        if sums.count > 0 {
            metrics.push(ScriptMetric::of(key, &sums));
        }
    }
    Ok(metrics)
}

impl ScriptMetric {
    fn of(key: &MetricKey, sums: &MetricSums) -> ScriptMetric {
        let of = |kinds: &[MetricKind], value: f64| kinds.contains(&key.kind).then_some(value);
        let (counter, gauge, trend) = (&[MetricKind::Counter], &[MetricKind::Gauge], &[MetricKind::Trend]);
        let extremes = &[MetricKind::Gauge, MetricKind::Trend];
        let count = sums.count as f64;
        let text = |tags: &BTreeMap<_, _>| {
            tags.iter()
                .map(|(name, value): (&evidence::Name, &evidence::Name)| {
                    (name.to_string(), value.to_string())
                })
                .collect()
        };
        ScriptMetric {
            kind: key.kind,
            name: key.name.to_string(),
            tags: text(&key.tags),
            count: sums.count,
            sum: of(counter, sums.sum),
            last: of(gauge, sums.last),
            min: of(extremes, sums.min),
            max: of(extremes, sums.max),
            rate: of(&[MetricKind::Rate], sums.nonzero as f64 / count),
            avg: of(trend, sums.sum / count),
            p50: sums.quantile(0.5).filter(|_| key.kind == MetricKind::Trend),
            p95: sums.quantile(0.95).filter(|_| key.kind == MetricKind::Trend),
            p99: sums.quantile(0.99).filter(|_| key.kind == MetricKind::Trend),
        }
    }

    /// The name with the tags: `hits`, `hits{page=a, user=b}`.
    pub(crate) fn label(&self) -> String {
        let tags: Vec<String> = self.tags.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if tags.is_empty() { self.name.clone() } else { format!("{}{{{}}}", self.name, tags.join(", ")) }
    }

    /// Its numbers in words.
    pub(crate) fn in_words(&self) -> String {
        let named = [
            ("sum", self.sum),
            ("last", self.last),
            ("avg", self.avg),
            ("min", self.min),
            ("p50", self.p50),
            ("p95", self.p95),
            ("p99", self.p99),
            ("max", self.max),
        ];
        let number = |(name, value): (&str, Option<f64>)| {
            value.map(|value| format!("{name} {}", number::significant(value, 3)))
        };
        let rate = self.rate.map(|rate| format!("{} not zero", number::percent(rate, 1.0)));
        rate.into_iter().chain(named.into_iter().filter_map(number)).collect::<Vec<_>>().join(", ")
    }
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
            let key =
                MetricKey { kind, name: "m".into(), tags: BTreeMap::from([("page".into(), "a".into())]) };
            let metric = ScriptMetric::of(&key, &sums);
            format!("{} {}", metric.label(), metric.in_words())
        };
        assert_eq!(shown(MetricKind::Counter, &[0.5, 2.0]), "m{page=a} sum 2.50");
        assert_eq!(shown(MetricKind::Rate, &[0.0, 1.0, 3.0, 0.0]), "m{page=a} 50.0 % not zero");
        assert_eq!(shown(MetricKind::Gauge, &[4.0, -1.0]), "m{page=a} last -1.00, min -1.00, max 4.00");
        let trend = "m{page=a} avg 2.00, min 2.00, p50 2.00, p95 2.00, p99 2.00, max 2.00";
        assert_eq!(shown(MetricKind::Trend, &[2.0, 2.0]), trend);
    }
}
