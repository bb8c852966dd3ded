//! Counts of requests and checks.

use std::collections::BTreeMap;

use evidence::Outcome;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::number;

/// Requests by outcome.
///
/// Imported runs may not know how requests ended, and a run may have counted none: the numbers are then `None`, never 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Requests started; none where nothing was counted.
    pub requests: Option<u64>,
    /// How many ended in each outcome, as far as it is known.
    pub by_outcome: BTreeMap<Outcome, u64>,
    /// Requests of which an imported run does not know how they ended; none where outcomes are recorded.
    pub unknown: Option<u64>,
    /// Requests that were sent again because the target had not processed them; each is counted once above.
    pub retried: u64,
}

impl Outcomes {
    /// Successes; none where outcomes are not known.
    pub fn ok(&self) -> Option<u64> {
        self.known(self.count_of(Outcome::Ok))
    }

    /// Failures of the target. Requests that the generator cancelled are not failures. None where outcomes are not known.
    pub fn failed(&self) -> Option<u64> {
        self.known(self.known_failures())
    }

    /// Requests that the generator cancelled; none where outcomes are not known.
    pub fn cancelled(&self) -> Option<u64> {
        self.known(self.count_of(Outcome::Cancelled))
    }

    /// Requests that ended and were not cancelled, whatever their outcome.
    pub fn completed(&self) -> u64 {
        self.count_of(Outcome::Ok) + self.known_failures() + self.unknown.unwrap_or(0)
    }

    /// Whether any request was counted.
    pub fn are_counted(&self) -> bool {
        self.requests.is_some() || !self.by_outcome.is_empty() || self.unknown > Some(0)
    }

    pub(crate) fn known_failures(&self) -> u64 {
        self.by_outcome.iter().filter(|(outcome, _)| outcome.is_failure()).map(|(_, n)| n).sum()
    }

    /// Failures as a share of what ended, as text.
    pub(crate) fn failed_share(&self) -> String {
        self.share_of_completed(self.failed())
    }

    /// A number of requests as a share of what ended, as text.
    pub(crate) fn share_of_completed(&self, part: Option<u64>) -> String {
        match part {
            None if self.unknown.is_some() => number::NOT_KNOWN.to_owned(),
            part => number::share(part.unwrap_or(0), self.completed()),
        }
    }

    /// A number of requests as text.
    pub(crate) fn count_text(&self, n: Option<u64>) -> String {
        match n {
            None if self.unknown.is_some() => number::NOT_KNOWN.to_owned(),
            n => number::count_or_none(n),
        }
    }

    /// How many were sent again, as text that follows the failures; empty where none was.
    pub(crate) fn retried_text(&self) -> String {
        match self.retried {
            0 => String::new(),
            n => format!(" · {} sent again", number::count(n)),
        }
    }

    /// Requests that ended, as text.
    pub(crate) fn completed_text(&self) -> String {
        number::count_or_none(self.are_counted().then(|| self.completed()))
    }

    fn known(&self, n: u64) -> Option<u64> {
        (self.are_counted() && self.unknown.is_none()).then_some(n)
    }

    fn count_of(&self, outcome: Outcome) -> u64 {
        self.by_outcome.get(&outcome).copied().unwrap_or(0)
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
        self.retried += other.retried;
        self.unknown = [self.unknown, other.unknown].into_iter().flatten().reduce(|sum, n| sum + n);
    }
}

impl Serialize for Outcomes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Outcomes", 3 + usize::from(self.retried > 0))?;
        fields.serialize_field("requests", &self.requests)?;
        fields.serialize_field("by_outcome", &self.unknown.is_none().then_some(&self.by_outcome))?;
        fields.serialize_field("completed", &self.are_counted().then(|| self.completed()))?;
        if self.retried > 0 {
            fields.serialize_field("retried", &self.retried)?;
        }
        fields.end()
    }
}

/// A check and how many responses passed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub scenario: String,
    pub endpoint: String,
    /// The check's name.
    pub name: String,
    /// What its step is called in tables.
    #[serde(skip)]
    pub label: String,
    /// Responses that passed it.
    pub passed: u64,
    /// Responses that failed it.
    pub failed: u64,
}
