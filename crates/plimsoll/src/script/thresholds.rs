//! Whether thresholds hold of sums of metrics: at the end of a run, and during it.

use std::time::Duration;

use evidence::metric::{MetricKind, MetricSums};
use k6::options::thresholds::{Aggregates, Aggregation, Threshold};

/// The values of a metric in so long a time.
pub(super) struct Part {
    pub(super) kind: MetricKind,
    pub(super) sums: MetricSums,
    pub(super) duration: Duration,
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
        aggregation.statistic(self.kind).of(&self.sums, self.duration)
    }
}
