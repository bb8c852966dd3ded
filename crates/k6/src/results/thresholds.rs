//! Whether thresholds hold of sums of metrics: at the end of a run, and during it.

use std::time::Duration;

use evidence::metric::{MetricKind, MetricSums};

use crate::options::thresholds::{Aggregates, Aggregation, Threshold};

/// The values of a metric in so long a time.
pub struct Measured {
    pub kind: MetricKind,
    pub sums: MetricSums,
    /// The time in which they were added.
    pub duration: Duration,
}

impl Measured {
    /// Whether a threshold holds. One of a rate without values does, as in k6.
    #[must_use]
    pub fn meets(&self, threshold: &Threshold) -> bool {
        let is_unknown = self.kind == MetricKind::Rate && self.sums.count == 0;
        is_unknown || threshold.expression.holds(self)
    }
}

impl Aggregates for Measured {
    fn aggregate(&self, aggregation: Aggregation) -> f64 {
        aggregation.statistic(self.kind).value(&self.sums, self.duration)
    }
}
