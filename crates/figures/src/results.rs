//! How requests ended: by outcome, by the status of the response, and by the reason of a failure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use evidence::Outcome;
use evidence::key::{Key, Name};
use serde::Serialize;

/// What is counted apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ResultKey {
    outcome: Outcome,
    status: Option<Name>,
    reason: Option<Name>,
}

/// Requests by outcome, status and reason; empty where the run file does not count them.
#[derive(Debug, Clone, Default)]
pub struct ResultCounts(BTreeMap<ResultKey, u64>);

/// Requests whose response had one status and that ended in one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatusCount {
    /// The status of the response, such as `503` or `NOT_FOUND`; none where no response had begun.
    pub status: Option<String>,
    /// How the requests ended.
    pub outcome: Outcome,
    /// How many requests.
    pub count: u64,
}

/// Requests that failed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// Why, in words; none for those whose reasons were too many to be counted apart.
    pub reason: Option<String>,
    /// How many requests.
    pub count: u64,
}

impl ResultCounts {
    /// Add `count` requests of a key of `Metric::Results`.
    pub fn add(&mut self, key: &Key, count: u64) {
        let Some(outcome) = key.outcome else { return };
        let tag = |name: &str| key.tags.get(name).cloned();
        let result = ResultKey { outcome, status: tag(Key::STATUS), reason: tag(Key::REASON) };
        *self.0.entry(result).or_default() += count;
    }

    /// Adds those of another row.
    pub fn merge(&mut self, other: &ResultCounts) {
        for (key, count) in &other.0 {
            *self.0.entry(key.clone()).or_default() += count;
        }
    }

    /// Requests by status and outcome, the most frequent first.
    pub fn statuses(&self) -> Vec<StatusCount> {
        let mut counts: BTreeMap<(Outcome, Option<&str>), u64> = BTreeMap::new();
        for (key, count) in &self.0 {
            *counts.entry((key.outcome, key.status.as_deref())).or_default() += count;
        }
        let status = |((outcome, status), count): ((Outcome, Option<&str>), u64)| StatusCount {
            status: status.map(str::to_owned),
            outcome,
            count,
        };
        let mut statuses: Vec<StatusCount> = counts.into_iter().map(status).collect();
        statuses.sort_by_key(|of| (Reverse(of.count), of.outcome));
        statuses
    }

    /// How many requests ended with this outcome and status.
    pub fn count_of(&self, kind: &StatusCount) -> u64 {
        let is_its =
            |key: &ResultKey| key.outcome == kind.outcome && key.status.as_deref() == kind.status.as_deref();
        self.0.iter().filter(|(key, _)| is_its(key)).map(|(_, count)| count).sum()
    }

    /// Why requests with this outcome and status failed, the most frequent reason first.
    pub fn reasons(&self, kind: &StatusCount) -> Vec<ReasonCount> {
        let is_its =
            |key: &ResultKey| key.outcome == kind.outcome && key.status.as_deref() == kind.status.as_deref();
        let its = self.0.iter().filter(|(key, _)| is_its(key));
        let reason = |(key, count): (&ResultKey, &u64)| ReasonCount {
            reason: key.reason.as_deref().map(str::to_owned),
            count: *count,
        };
        let mut reasons: Vec<ReasonCount> = its.map(reason).collect();
        reasons.sort_by_key(|of| (of.reason.is_none(), Reverse(of.count)));
        reasons
    }
}

impl StatusCount {
    /// What failures of this kind are called: by their status where that says it all.
    pub fn name(&self) -> String {
        use Outcome::{Grpc, Http4xx, Http5xx, Http429, Http503};
        let outcome = self.outcome;
        match (&self.status, outcome) {
            (None, _) => outcome.to_string(),
            (Some(status), Http4xx | Http429 | Http5xx | Http503 | Grpc(_)) => format!("status {status}"),
            (Some(status), _) => format!("{outcome}, status {status}"),
        }
    }

    /// Its status as text.
    pub fn status_text(&self) -> &str {
        match &self.status {
            Some(status) => status,
            None if self.outcome.is_answer() => "other",
            None => "no response",
        }
    }
}

#[cfg(test)]
mod tests {
    use evidence::Metric;

    use super::*;

    fn key(outcome: Outcome, status: &str, reason: &str) -> Key {
        let mut key = Key::of(Metric::Results).outcome(outcome);
        for (name, value) in [(Key::STATUS, status), (Key::REASON, reason)] {
            if !value.is_empty() {
                key = key.tag(name, value);
            }
        }
        key
    }

    #[test]
    fn reasons_add_up_to_their_status() {
        let mut counts = ResultCounts::default();
        counts.add(&key(Outcome::Ok, "200", ""), 90);
        counts.add(&key(Outcome::Check, "200", "no name"), 4);
        counts.add(&key(Outcome::Http503, "503", "too busy"), 2);
        counts.add(&key(Outcome::Http503, "503", ""), 5);
        counts.add(&key(Outcome::Timeout, "", "no response"), 1);
        let statuses = counts.statuses();
        let named: Vec<(String, u64)> = statuses.iter().map(|of| (of.name(), of.count)).collect();
        let expected = [("ok, status 200", 90), ("status 503", 7), ("check, status 200", 4), ("timeout", 1)];
        assert_eq!(named, expected.map(|(name, count)| (name.to_owned(), count)));
        let busy = counts.reasons(&statuses[1]);
        let named: Vec<_> = busy.iter().map(|of| (of.reason.as_deref(), of.count)).collect();
        assert_eq!(named, [(Some("too busy"), 2), (None, 5)]);
    }
}
