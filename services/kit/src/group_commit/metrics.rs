//! The metrics of group commit, the same in every service that commits in groups.

use std::time::Instant;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;

use crate::metrics::{Metrics, seconds_histogram};

/// Upper bounds of the histogram of group sizes.
const GROUP_BOUNDS: [f64; 8] = [1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 2048.0, 4096.0];

/// What writers count. Clones share it.
#[derive(Clone)]
pub struct GroupMetrics {
    commands: Histogram,
    seconds: Histogram,
    failed: Counter,
    rejected: Counter,
    abandoned: Counter,
}

impl GroupMetrics {
    /// Registers them under names that begin with `prefix`, such as `store`.
    #[must_use]
    pub fn register(metrics: &Metrics, prefix: &str) -> Self {
        let own = Self {
            commands: Histogram::new(GROUP_BOUNDS),
            seconds: seconds_histogram(),
            failed: Counter::default(),
            rejected: Counter::default(),
            abandoned: Counter::default(),
        };
        let all = own.clone();
        let named = |name: &str| format!("{prefix}_{name}");
        metrics.register(|registry| {
            registry.register(named("group_commands"), "Commands in one transaction", all.commands);
            let help = "Time of one transaction, from its first statement to its commit";
            registry.register(named("commit_seconds"), help, all.seconds);
            registry.register(named("groups_failed"), "Transactions that were not committed", all.failed);
            let help = "Commands that failed alone, because of what they write";
            registry.register(named("commands_rejected"), help, all.rejected);
            let help = "Commands dropped before they were begun, because their callers had left";
            registry.register(named("commands_abandoned"), help, all.abandoned);
        });
        own
    }

    pub(super) fn begin(&self, commands: usize) -> GroupAttempt<'_> {
        GroupAttempt { metrics: self, commands, started: Instant::now() }
    }

    /// Counts a group as failed of which the writer learned so only after [`super::GroupWriter::commit`] had returned.
    pub fn count_failed_later(&self) {
        self.failed.inc();
    }

    pub(super) fn count_rejected(&self) {
        self.rejected.inc();
    }

    pub(super) fn count_abandoned(&self) {
        self.abandoned.inc();
    }
}

/// One transaction that was begun.
pub(super) struct GroupAttempt<'a> {
    metrics: &'a GroupMetrics,
    commands: usize,
    started: Instant,
}

impl GroupAttempt<'_> {
    pub(super) fn committed(self) {
        self.metrics.commands.observe(self.commands as f64);
        self.metrics.seconds.observe(self.started.elapsed().as_secs_f64());
    }

    pub(super) fn failed(self) {
        self.metrics.failed.inc();
        self.committed();
    }
}
