//! Whether thresholds hold of sums of metrics: at the end of a run, and during it.

use evidence::metric::{MetricKind, MetricSums};
use k6::options::thresholds::{Aggregates, Aggregation, Threshold};

/// The values of a metric in so many seconds.
pub(super) struct Part {
    pub(super) kind: MetricKind,
    pub(super) sums: MetricSums,
    pub(super) duration_s: f64,
}

impl Part {
    /// Whether a threshold holds. One of a rate without values does, as in k6.
    pub(super) fn meets(&self, threshold: &Threshold) -> bool {
        let is_unknown = self.kind == MetricKind::Rate && self.sums.count == 0;
        is_unknown || threshold.expression.holds(self)
    }
}

impl Aggregates for Part {
    fn aggregate(&self, aggregation: Aggregation) -> f64 {
        let MetricSums { count, nonzero, sum, min, max, last, .. } = self.sums;
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        match aggregation {
            Aggregation::Count => sum,
            Aggregation::Rate if self.kind == MetricKind::Rate => share(nonzero as f64, count as f64),
            Aggregation::Rate => share(sum, self.duration_s),
            Aggregation::Value => last,
            Aggregation::Avg => share(sum, count as f64),
            Aggregation::Min => min,
            Aggregation::Max => max,
            Aggregation::Med => self.sums.quantile(0.5).unwrap_or(0.0),
            Aggregation::Percentile(percent) => self.sums.quantile(percent / 100.0).unwrap_or(0.0),
        }
    }
}
