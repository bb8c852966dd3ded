//! The numbers that a reader looks for first.

use std::collections::BTreeMap;

use evidence::Histogram;
use evidence::key::Name;
use serde::Serialize;

use super::Times;
use super::tally::RunTally;

/// All requests of the phase in which most of those were due that ended.
#[derive(Debug, Clone, Serialize)]
pub struct Headline {
    pub phase: String,
    /// Requests that ended in its window, in success or failure, per second of it; none where its length is unknown.
    pub throughput_per_s: Option<f64>,
    /// Of these the successes; none where outcomes are not known, too.
    pub goodput_per_s: Option<f64>,
    /// Due instant → last byte, of successes.
    pub response_time: Times,
}

/// None where no request ended in a phase.
pub(super) fn of(tally: &RunTally) -> Option<Headline> {
    let mut by_phase: BTreeMap<&Name, u64> = BTreeMap::new();
    for (key, counts) in tally.endpoints.iter().filter(|(key, _)| !key.phase.is_empty()) {
        *by_phase.entry(&key.phase).or_default() += counts.outcomes.completed();
    }
    let (phase, _) = by_phase.into_iter().filter(|(_, n)| *n > 0).max_by_key(|(_, n)| *n)?;
    let mut response = Histogram::new();
    let its = || tally.endpoints.iter().filter(|(key, _)| key.phase == *phase);
    its().for_each(|(_, counts)| response.merge(&counts.response));
    let knows_outcomes = its().all(|(_, counts)| counts.outcomes.unknown.is_none());
    let (mut ok, mut completed) = (0.0, 0.0);
    for (_, ended) in tally.in_window.of_phase(phase) {
        (ok, completed) = (ok + ended.ok, completed + ended.completed());
    }
    Some(Headline {
        phase: phase.to_string(),
        throughput_per_s: tally.in_window.per_second(phase, completed),
        goodput_per_s: tally.in_window.per_second(phase, ok).filter(|_| knows_outcomes),
        response_time: Times::of(&response),
    })
}
