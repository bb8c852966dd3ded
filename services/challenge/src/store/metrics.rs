//! The metrics of the writers, under the same names for both stores.

use std::time::Instant;

use kit::metrics::{Metrics, seconds_histogram};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use super::batch::GroupOutcome;

/// Upper bounds of the group-size histogram.
const GROUP_BOUNDS: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 2048.0, 4096.0];

/// The writers' counters. Clones share them.
#[derive(Clone)]
pub(super) struct StoreMetrics {
    group_commands: Histogram,
    commit_seconds: Histogram,
    events_written: Counter,
    events_duplicate: Counter,
    rows_written: Counter,
    groups_failed: Counter,
}

/// One transaction that was begun.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupStart {
    pub(super) commands: usize,
    pub(super) started: Instant,
}

impl GroupStart {
    pub(super) fn now(commands: usize) -> Self {
        Self { commands, started: Instant::now() }
    }
}

/// The counts of a committed group.
pub(super) struct GroupCounts {
    events_written: u64,
    events_duplicate: u64,
    rows: u64,
}

impl GroupCounts {
    pub(super) fn of(outcome: &GroupOutcome) -> Self {
        let rows = outcome.changes.rows.len() as u64;
        Self { events_written: outcome.events_written, events_duplicate: outcome.events_duplicate, rows }
    }
}

impl StoreMetrics {
    pub(super) fn register(metrics: &Metrics) -> Self {
        let own = Self {
            group_commands: Histogram::new(GROUP_BOUNDS),
            commit_seconds: seconds_histogram(),
            events_written: Counter::default(),
            events_duplicate: Counter::default(),
            rows_written: Counter::default(),
            groups_failed: Counter::default(),
        };
        let all = own.clone();
        metrics.register(|registry| {
            registry.register("store_group_commands", "Commands committed together", all.group_commands);
            let help = "Time of one transaction, from its first statement to its commit";
            registry.register("store_commit_seconds", help, all.commit_seconds);
            registry.register(
                "store_groups_failed",
                "Transactions that were not committed",
                all.groups_failed,
            );
            registry.register("store_rows_written", "Rows of progress written", all.rows_written);
            registry.register("events_written", "Events whose effect is durable", all.events_written);
            let help = "Events recognised as delivered before";
            registry.register("events_duplicate", help, all.events_duplicate);
        });
        own
    }

    /// Counts one transaction; `committed` is `None` when it failed.
    pub(super) fn record_group(&self, start: GroupStart, committed: Option<&GroupCounts>) {
        self.group_commands.observe(start.commands as f64);
        self.commit_seconds.observe(start.started.elapsed().as_secs_f64());
        match committed {
            None => {
                self.groups_failed.inc();
            }
            Some(counts) => {
                self.events_written.inc_by(counts.events_written);
                self.events_duplicate.inc_by(counts.events_duplicate);
                self.rows_written.inc_by(counts.rows);
            }
        }
    }
}
