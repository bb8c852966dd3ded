//! Counts of arrivals, requests and checks.

use std::collections::BTreeMap;

use evidence::Outcome;
use serde::Serialize;

/// Arrivals: scheduled = started + dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Arrivals {
    /// Arrivals that were due.
    pub scheduled: u64,
    /// Arrivals that started.
    pub started: u64,
    /// Never started because no virtual user was free: "dropped: VU limit".
    pub dropped_cap: u64,
    /// Never started because the generator was late: "dropped: generator late".
    pub dropped_late: u64,
}

impl Arrivals {
    /// Arrivals that were due and never started.
    pub fn dropped(&self) -> u64 {
        self.dropped_cap + self.dropped_late
    }

    pub(super) fn plus(self, other: Arrivals) -> Arrivals {
        Arrivals {
            scheduled: self.scheduled + other.scheduled,
            started: self.started + other.started,
            dropped_cap: self.dropped_cap + other.dropped_cap,
            dropped_late: self.dropped_late + other.dropped_late,
        }
    }
}

/// Requests by outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Requests started; none where nothing was counted.
    pub requests: Option<u64>,
    /// How many ended in each outcome.
    pub by_outcome: BTreeMap<Outcome, u64>,
}

impl Outcomes {
    /// Successes.
    pub fn ok(&self) -> u64 {
        self.by_outcome.get(&Outcome::Ok).copied().unwrap_or(0)
    }

    /// Failures of the target. Requests that the generator cancelled are not failures.
    pub fn failed(&self) -> u64 {
        self.by_outcome.iter().filter(|(outcome, _)| outcome.is_failure()).map(|(_, n)| n).sum()
    }

    /// Requests that the generator cancelled.
    pub fn cancelled(&self) -> u64 {
        self.by_outcome.get(&Outcome::Cancelled).copied().unwrap_or(0)
    }

    /// Requests that ended in success or failure and were not cancelled.
    pub fn completed(&self) -> u64 {
        self.ok() + self.failed()
    }

    /// Requests with a complete response, whatever it was.
    pub fn with_response(&self) -> u64 {
        self.by_outcome.iter().filter(|(outcome, _)| outcome.is_answer()).map(|(_, n)| n).sum()
    }

    /// Failures by outcome, the most frequent first.
    pub fn failures(&self) -> Vec<(Outcome, u64)> {
        let mut failures: Vec<_> = self
            .by_outcome
            .iter()
            .filter(|(o, n)| o.is_failure() && **n > 0)
            .map(|(o, n)| (*o, *n))
            .collect();
        failures.sort_by_key(|(outcome, n)| (std::cmp::Reverse(*n), *outcome));
        failures
    }

    pub(super) fn add(&mut self, other: &Outcomes) {
        if let Some(requests) = other.requests {
            self.requests = Some(self.requests.unwrap_or(0) + requests);
        }
        for (outcome, n) in &other.by_outcome {
            *self.by_outcome.entry(*outcome).or_default() += n;
        }
    }
}

/// A check and how many responses passed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The scenario's name.
    pub scenario: String,
    /// The step's name.
    pub endpoint: String,
    /// The check's name.
    pub name: String,
    /// Responses that passed it.
    pub passed: u64,
    /// Responses that failed it.
    pub failed: u64,
}
