//! Metrics of the writers, the same in both stores.

use std::time::Instant;

use kit::metrics::{Metrics, seconds_histogram};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;

use crate::write::{Changes, Direction};

/// Upper bounds of the buckets of group sizes.
const GROUP_BOUNDS: [f64; 7] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MovementLabel {
    movement_type: &'static str,
}

/// A group of writes at the start of its transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupStart {
    /// The number of writes.
    pub(super) writes: usize,
    /// When the transaction began.
    pub(super) at: Instant,
}

impl GroupStart {
    /// A group whose transaction begins now.
    pub(super) fn now(writes: usize) -> Self {
        Self { writes, at: Instant::now() }
    }
}

/// The metrics of the writers. Clones share them.
#[derive(Clone)]
pub(super) struct WriterMetrics {
    group_writes: Histogram,
    commit_seconds: Histogram,
    groups_failed: Counter,
    movements: Family<MovementLabel, Counter>,
    units: Family<MovementLabel, Counter>,
}

impl WriterMetrics {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let writer_metrics = Self {
            group_writes: Histogram::new(GROUP_BOUNDS),
            commit_seconds: seconds_histogram(),
            groups_failed: Counter::default(),
            movements: Family::default(),
            units: Family::default(),
        };
        let registered = writer_metrics.clone();
        metrics.register(|registry| {
            registry.register("store_group_writes", "Writes in one transaction", registered.group_writes);
            let help = "Duration of a transaction, from its first statement to its commit";
            registry.register("store_commit_seconds", help, registered.commit_seconds);
            registry.register("store_groups_failed", "Transactions that failed", registered.groups_failed);
            let help = "Stock movements recorded, by type";
            registry.register("inventory_movements", help, registered.movements);
            let help = "Units moved by stock movements, by type; for adjustments the difference";
            registry.register("inventory_units", help, registered.units);
        });
        writer_metrics
    }

    /// Counts a transaction; `committed` is `None` when it failed.
    pub(super) fn count(&self, group: GroupStart, committed: Option<&Changes>) {
        self.group_writes.observe(group.writes as f64);
        self.commit_seconds.observe(group.at.elapsed().as_secs_f64());
        let Some(changes) = committed else {
            self.groups_failed.inc();
            return;
        };
        for record in &changes.movements {
            let label = MovementLabel { movement_type: Direction::as_str(record.direction) };
            self.movements.get_or_create(&label).inc();
            self.units.get_or_create(&label).inc_by(record.stock.before.abs_diff(record.stock.after).into());
        }
    }
}
