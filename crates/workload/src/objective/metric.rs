//! Thresholds of scripts as objectives: a statistic of a metric that the script makes.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::metric::{MetricKey, MetricSums};
use serde::{Deserialize, Serialize};

/// What a threshold measures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricMeasure {
    pub name: String,
    /// Tags that its values must have; empty for all values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// What is asked of them.
    pub statistic: MetricStatistic,
    #[serde(default)]
    pub unit: MetricUnit,
}

/// What is asked of the values of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricStatistic {
    /// Of a counter: the sum.
    Sum,
    /// Of a counter: the sum, divided by the seconds of the whole run.
    SumPerSecond,
    /// Of a rate: the share of values that are not zero, 0 to 1.
    NonzeroShare,
    /// Of a gauge: the last value.
    Last,
    /// Of a trend: the arithmetic mean.
    Mean,
    /// Of a trend: the lowest.
    Min,
    /// Of a trend: the highest.
    Max,
    /// Of a trend: the quantile, 0 to 1.
    Quantile(f64),
}

/// What the values of a metric are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricUnit {
    #[default]
    Number,
    Milliseconds,
    Bytes,
}

impl MetricMeasure {
    /// The unit of values and bounds: `ms`, `bytes`, `1/s`, `1` for shares, empty for numbers.
    pub fn unit(&self) -> &'static str {
        match (self.statistic, self.unit) {
            (MetricStatistic::NonzeroShare, _) => "1",
            (MetricStatistic::SumPerSecond, MetricUnit::Bytes) => "bytes/s",
            (MetricStatistic::SumPerSecond, _) => "1/s",
            (_, MetricUnit::Milliseconds) => "ms",
            (_, MetricUnit::Bytes) => "bytes",
            (_, MetricUnit::Number) => "",
        }
    }

    /// Whether its values are times.
    pub fn is_of_times(&self) -> bool {
        self.unit() == "ms"
    }

    /// Whether the values of this metric are among those that it is about.
    pub fn counts(&self, key: &MetricKey) -> bool {
        let has_tag = |(name, value): (&String, &String)| {
            key.tags.get(name.as_str()).is_some_and(|known| **known == **value)
        };
        *key.name == *self.name && self.tags.iter().all(has_tag)
    }
}

impl MetricStatistic {
    /// The statistic of values that a run of this length added; 0 where there are none.
    pub fn value(self, sums: &MetricSums, run: Duration) -> f64 {
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        match self {
            MetricStatistic::Sum => sums.sum,
            MetricStatistic::SumPerSecond => share(sums.sum, run.as_secs_f64()),
            MetricStatistic::NonzeroShare => share(sums.nonzero as f64, sums.count as f64),
            MetricStatistic::Last => sums.last,
            MetricStatistic::Mean => share(sums.sum, sums.count as f64),
            MetricStatistic::Min => sums.min,
            MetricStatistic::Max => sums.max,
            MetricStatistic::Quantile(q) => sums.quantile(q).unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use evidence::Instant;
    use evidence::metric::MetricKind;

    use super::*;

    #[test]
    fn each_statistic_is_that_of_the_values() {
        let mut sums = MetricSums::default();
        for value in [4.0, 0.0, 8.0] {
            sums.add(MetricKind::Trend, value, Instant::EPOCH);
        }
        let of = |statistic: MetricStatistic| statistic.value(&sums, Duration::from_secs(6));
        assert_eq!(of(MetricStatistic::Sum), 12.0);
        assert_eq!(of(MetricStatistic::SumPerSecond), 2.0);
        assert_eq!(of(MetricStatistic::NonzeroShare), 2.0 / 3.0);
        assert_eq!(of(MetricStatistic::Mean), 4.0);
        assert_eq!([of(MetricStatistic::Min), of(MetricStatistic::Max)], [0.0, 8.0]);
        assert!((of(MetricStatistic::Quantile(0.5)) - 4.0).abs() < 0.01);
        assert_eq!(MetricStatistic::Mean.value(&MetricSums::default(), Duration::ZERO), 0.0);
        let mut gauge = MetricSums::default();
        [4.0, 0.0, 8.0].iter().for_each(|value| gauge.add(MetricKind::Gauge, *value, Instant::EPOCH));
        assert_eq!(MetricStatistic::Last.value(&gauge, Duration::ZERO), 8.0);
    }
}
