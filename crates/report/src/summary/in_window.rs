//! What began and ended in the window of each phase, whenever it was due.

use std::collections::BTreeMap;

use evidence::key::{Key, Name};
use evidence::run::ReadError;
use evidence::{Metric, Outcome, Run, Windows};
use serde::Serialize;
use workload::Workload;

use super::endpoint_tally::EndpointKey;
use crate::number;

/// Requests of one phase, by the instants at which they began and ended. What was in flight before it plus `begun` is
/// `completed` plus `cancelled` plus what was in flight at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PhaseRequests {
    /// Requests that began in its window.
    pub begun: u64,
    /// Those that ended in it, in success or failure.
    pub completed: u64,
    /// Those that the generator cancelled in it.
    pub cancelled: u64,
    /// Those in flight when it began.
    pub in_flight_at_begin: u64,
    /// Those in flight when it ended.
    pub in_flight_at_end: u64,
}

impl PhaseRequests {
    fn add_up(&self) -> bool {
        self.in_flight_at_begin + self.begun == self.completed + self.cancelled + self.in_flight_at_end
    }

    /// The identity in words: `3,900 requests begun = 2,925 completed + 0 cancelled + 975 more in flight`.
    pub(crate) fn in_words(&self) -> String {
        let growth = number::count(self.in_flight_at_end.abs_diff(self.in_flight_at_begin));
        let growth = match self.in_flight_at_end < self.in_flight_at_begin {
            true => format!("− {growth} that were in flight before"),
            false => format!("+ {growth} more in flight"),
        };
        format!(
            "{} requests begun = {} completed + {} cancelled {growth}",
            number::count(self.begun),
            number::count(self.completed),
            number::count(self.cancelled),
        )
    }
}

/// What ended of one endpoint in one window; fractions where a run file counts seconds in proportion.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EndedCounts {
    /// Successes, and responses whose outcome is not known.
    pub ok: f64,
    pub failed: f64,
    /// Whole iterations that were counted as done.
    done: Option<f64>,
    /// Whole iterations that have a time.
    timed: Option<f64>,
}

impl EndedCounts {
    /// Requests that ended, in success or failure.
    pub(super) fn completed(&self) -> f64 {
        self.ok + self.failed
    }

    /// Whole iterations that ended; none where they were not counted.
    pub(super) fn iterations(&self) -> Option<f64> {
        self.done.or(self.timed)
    }
}

/// What began and ended, by window.
#[derive(Debug)]
pub(super) struct InWindow {
    windows: Windows,
    endpoints: BTreeMap<EndpointKey, EndedCounts>,
    /// By phase; none where the run file does not say in which phase requests began and ended, or what was in flight.
    requests: Option<Vec<PhaseRequests>>,
}

impl InWindow {
    pub(super) fn of(run: &dyn Run, workload: &Workload) -> Result<InWindow, ReadError> {
        let windows = workload.windows(run)?;
        let counts_them = run.manifest().counts_windows() && run.manifest().source.is_none();
        let requests = counts_them.then(|| vec![PhaseRequests::default(); windows.spans().len()]);
        Ok(InWindow { windows, endpoints: BTreeMap::new(), requests })
    }

    /// Count what `key` has in one second. What moved from one window to another must come after the rest.
    pub(super) fn add(&mut self, key: &Key, second: u32, count: u64) {
        if let Some(of_phase) = &mut self.requests {
            for (window, sign) in self.windows.signs(key) {
                let of_phase = &mut of_phase[window];
                let counted = match (key.metric, key.outcome) {
                    (Metric::Requests | Metric::MovedRequests, _) => &mut of_phase.begun,
                    (Metric::InFlightAtEnd, _) => &mut of_phase.in_flight_at_end,
                    (Metric::ResponseTime | Metric::MovedResponseTime, Some(Outcome::Cancelled)) => {
                        &mut of_phase.cancelled
                    }
                    (Metric::ResponseTime | Metric::MovedResponseTime, _) => &mut of_phase.completed,
                    _ => continue,
                };
                *counted = if sign > 0 { *counted + count } else { counted.saturating_sub(count) };
            }
        }
        for (window, share) in self.windows.shares(key, second) {
            let count = count as f64 * share;
            let phase = self.windows.spans()[window].name.clone();
            let (scenario, endpoint) = (key.scenario.clone(), key.endpoint.clone());
            let ended = self.endpoints.entry(EndpointKey { phase, scenario, endpoint }).or_default();
            match (key.metric, key.outcome.unwrap_or(Outcome::Ok)) {
                (Metric::ResponseTime | Metric::MovedResponseTime, Outcome::Ok) => ended.ok += count,
                (Metric::ResponseTime | Metric::MovedResponseTime, outcome) if outcome.is_failure() => {
                    ended.failed += count;
                }
                (Metric::IterationsDone | Metric::MovedIterationsDone, _) => {
                    *ended.done.get_or_insert_default() += count;
                }
                (Metric::IterationTime, _) => *ended.timed.get_or_insert_default() += count,
                _ => {}
            }
        }
    }

    /// What ended of an endpoint in the window of its phase.
    pub(super) fn ended(&self, key: &EndpointKey) -> EndedCounts {
        self.endpoints.get(key).copied().unwrap_or_default()
    }

    /// The endpoints of which anything ended in the window of this phase.
    pub(super) fn of_phase(&self, phase: &str) -> impl Iterator<Item = (&EndpointKey, &EndedCounts)> {
        self.endpoints.iter().filter(move |(key, _)| *key.phase == *phase)
    }

    /// A count per second of the window of a phase; none where it has no length.
    pub(super) fn per_second(&self, phase: &Name, count: f64) -> Option<f64> {
        let span = self.windows.spans().iter().find(|span| span.name == *phase)?;
        (span.length_s() > 0.0).then(|| count / span.length_s())
    }

    /// The requests of the phase with this index; none where they do not add up: what a worker that vanished had in flight is
    /// not known, nor what was in flight when a run was killed.
    pub(super) fn requests(&self, phase: usize) -> Option<PhaseRequests> {
        let all = self.requests.as_ref()?;
        let before = phase.checked_sub(1).and_then(|before| all.get(before));
        let in_flight_at_begin = before.map_or(0, |before| before.in_flight_at_end);
        let its = all.get(phase).map(|its| PhaseRequests { in_flight_at_begin, ..*its });
        its.filter(PhaseRequests::add_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_the_requests_of_a_phase_is_an_equation() {
        let grown = PhaseRequests {
            begun: 3_900,
            completed: 2_925,
            cancelled: 0,
            in_flight_at_begin: 0,
            in_flight_at_end: 975,
        };
        assert!(grown.add_up());
        assert_eq!(
            grown.in_words(),
            "3,900 requests begun = 2,925 completed + 0 cancelled + 975 more in flight"
        );
        let drained = PhaseRequests { begun: 0, completed: 970, cancelled: 5, ..grown };
        let drained = PhaseRequests { in_flight_at_begin: 975, in_flight_at_end: 0, ..drained };
        assert!(drained.add_up());
        assert_eq!(
            drained.in_words(),
            "0 requests begun = 970 completed + 5 cancelled − 975 that were in flight before"
        );
    }
}
