//! What both stores count, under the same names.

use crate::write::{Changes, Direction};
use kit::metrics::{Metrics, seconds_histogram};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use std::time::Instant;

/// Upper bounds of the group-size histogram.
const GROUP_BOUNDS: [f64; 7] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Movement {
    movement_type: &'static str,
}

/// The writers' counters. Clones share them.
#[derive(Clone)]
pub(super) struct Counted {
    group_writes: Histogram,
    commit_seconds: Histogram,
    groups_failed: Counter,
    movements: Family<Movement, Counter>,
    units: Family<Movement, Counter>,
}

impl Counted {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let counted = Self {
            group_writes: Histogram::new(GROUP_BOUNDS),
            commit_seconds: seconds_histogram(),
            groups_failed: Counter::default(),
            movements: Family::default(),
            units: Family::default(),
        };
        let all = counted.clone();
        metrics.register(|registry| {
            registry.register("store_group_writes", "Writes committed together", all.group_writes);
            let help = "Time of one transaction, from its first statement to its commit";
            registry.register("store_commit_seconds", help, all.commit_seconds);
            registry.register(
                "store_groups_failed",
                "Transactions that were not committed",
                all.groups_failed,
            );
            let help = "Movements of stock that were recorded";
            registry.register("inventory_movements", help, all.movements);
            let help = "Units that they moved; for adjustments, the difference";
            registry.register("inventory_units", help, all.units);
        });
        counted
    }

    /// Counts one transaction of `writes` that began at `started`; `None` when it failed.
    pub(super) fn group(&self, (writes, started): (usize, Instant), committed: Option<&Changes>) {
        self.group_writes.observe(writes as f64);
        self.commit_seconds.observe(started.elapsed().as_secs_f64());
        let Some(changes) = committed else {
            self.groups_failed.inc();
            return;
        };
        for line in &changes.movements {
            let kind = Movement { movement_type: Direction::word(line.direction) };
            self.movements.get_or_create(&kind).inc();
            self.units.get_or_create(&kind).inc_by(line.stock.0.abs_diff(line.stock.1).into());
        }
    }
}
