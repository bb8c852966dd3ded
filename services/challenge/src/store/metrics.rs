//! The metrics of what was committed, under the same names for both stores.

use kit::metrics::Metrics;
use prometheus_client::metrics::counter::Counter;

use super::batch::GroupOutcome;

/// The writers' counters. Clones share them.
#[derive(Clone)]
pub(super) struct StoreMetrics {
    events_written: Counter,
    events_duplicate: Counter,
    rows_written: Counter,
}

impl StoreMetrics {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let own = Self {
            events_written: Counter::default(),
            events_duplicate: Counter::default(),
            rows_written: Counter::default(),
        };
        let all = own.clone();
        metrics.register(|registry| {
            registry.register("store_rows_written", "Rows of progress written", all.rows_written);
            registry.register("events_written", "Events whose effect is durable", all.events_written);
            let help = "Events recognised as delivered before";
            registry.register("events_duplicate", help, all.events_duplicate);
        });
        own
    }

    /// Counts a group that was committed.
    pub(super) fn count(&self, committed: &GroupOutcome) {
        self.events_written.inc_by(committed.events_written);
        self.events_duplicate.inc_by(committed.events_duplicate);
        self.rows_written.inc_by(committed.changes.rows.len() as u64);
    }
}
