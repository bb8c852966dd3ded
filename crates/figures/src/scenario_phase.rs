//! One scenario in one phase.

use std::collections::BTreeMap;

use evidence::{Histogram, Instance, Name};

use crate::row_key::RowKey;

/// Arrivals of one second.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArrivalCounts {
    /// Arrivals due.
    pub scheduled: u64,
    /// Dropped because the generator was late.
    pub dropped_generator_late: u64,
}

/// One scenario in one phase.
#[derive(Debug, Default)]
pub struct ScenarioPhase {
    /// Its phase and scenario, without an endpoint.
    pub key: RowKey,
    /// Arrivals due.
    pub scheduled: u64,
    /// Of these, started.
    pub started: u64,
    /// Of these, dropped at the VU limit.
    pub dropped_vu_limit: u64,
    /// Of these, dropped because the generator was late.
    pub dropped_generator_late: u64,
    /// The same by the part of the generator, where that was recorded.
    pub late_by_instance: BTreeMap<Instance, u64>,
    /// Dropped in an imported run whose source does not give the reason.
    pub dropped_unknown: u64,
    /// Iterations that ran to their end.
    pub done: u64,
    /// Of those that are done the iterations of a script that threw, by what they threw; an empty name where there was too
    /// much of it.
    pub threw: BTreeMap<Name, u64>,
    /// Iterations that the generator cancelled.
    pub cancelled: u64,
    /// Arrivals by second.
    pub by_second: BTreeMap<u32, ArrivalCounts>,
    /// Whole iterations that succeeded.
    pub iteration_ok: Histogram,
    /// Whole iterations that failed.
    pub iteration_failed: Histogram,
}

impl ScenarioPhase {
    /// Arrivals dropped for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.dropped_vu_limit + self.dropped_generator_late
    }
}
