//! One endpoint of one scenario in one phase.

use std::collections::BTreeMap;

use evidence::{Histogram, Metric, Name, Outcome};

use crate::arrivals::Arrivals;
use crate::results::ResultCounts;
use crate::row_key::RowKey;

/// How often a check passed and failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckCounts {
    /// Responses for which it held.
    pub passed: u64,
    /// Responses for which it did not.
    pub failed: u64,
}

/// One endpoint of one scenario in one phase; its whole iterations where the key names no endpoint.
#[derive(Debug, Default)]
pub struct Row {
    /// What it is about.
    pub key: RowKey,
    /// Arrivals that were counted for it; none where they were counted for another row, or not at all.
    pub arrivals: Option<Arrivals>,
    /// Requests of this endpoint that were not made, because the arrival was dropped at the VU limit. A dropped arrival of
    /// a sequence counts for each of its steps.
    pub dropped_vu_limit: u64,
    /// The same of arrivals that were dropped because the generator was late.
    pub dropped_generator_late: u64,
    /// Requests begun; none where they were not counted.
    pub requests: Option<u64>,
    /// Of these, sent again.
    pub retried: u64,
    /// Responses that departed from the standards of HTTP, by how.
    pub deviations: BTreeMap<Name, u64>,
    /// Responses by outcome, cancelled ones included; those of unknown outcome count as successes.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// The same by status and reason; empty where that was not counted.
    pub results: ResultCounts,
    /// Response times of successes.
    pub ok: Histogram,
    /// Response times of failures.
    pub failed: Histogram,
    /// Service times of successes.
    pub service_ok: Histogram,
    /// Failures that have a service time.
    pub service_failed: u64,
    /// Service times of every outcome.
    pub service_all: u64,
    /// Times of whole iterations of every outcome.
    pub iteration: Histogram,
    /// Iterations that ran to their end; none where they were not counted.
    pub iterations_done: Option<u64>,
    /// Iterations that the generator cancelled; none where they were not counted.
    pub iterations_cancelled: Option<u64>,
    /// How long requests waited for a connection, by what limited it.
    pub place_waits: BTreeMap<Name, Histogram>,
    /// By name of the check.
    pub checks: BTreeMap<Name, CheckCounts>,
    /// Bytes received; none where they were not counted.
    pub bytes_in: Option<u64>,
    /// Bytes sent; none where they were not counted.
    pub bytes_out: Option<u64>,
    /// Nanoseconds that answered requests spent in each part of a request, by its metric.
    pub part_ns: BTreeMap<Metric, u64>,
    /// Times of the first messages of streams, of successes.
    pub first_message: Histogram,
    /// Messages of streams received.
    pub messages_in: u64,
    /// Messages of streams sent.
    pub messages_out: u64,
}

impl Row {
    /// Requests begun, 0 where they were not counted.
    pub fn begun(&self) -> u64 {
        self.requests.unwrap_or(0)
    }

    /// Arrivals dropped for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_vu_limit + self.dropped_generator_late
    }

    /// Successes and what the target failed: everything except what the generator itself gave up.
    pub fn attempted(&self) -> u64 {
        self.ok.count() + self.failed_by_target()
    }

    /// Failed requests, and arrivals that were dropped because the target was too slow for the VU limit.
    pub fn failed_by_target(&self) -> u64 {
        self.failed.count() + self.dropped_vu_limit
    }

    /// Failed requests and dropped arrivals: a quantile counts them as infinitely slow.
    pub fn infinitely_slow(&self) -> u64 {
        self.failed.count() + self.dropped()
    }

    /// Responses of every outcome.
    pub fn responses(&self) -> u64 {
        self.outcomes.values().sum()
    }
}
