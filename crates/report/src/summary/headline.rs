//! The numbers that a reader looks for first.

use std::collections::BTreeMap;

use evidence::Histogram;
use evidence::key::Name;
use serde::Serialize;

use super::tally::RunTally;
use super::{PhaseCoverage, Times};

/// All requests of the phase in which most requests ended.
#[derive(Debug, Clone, Serialize)]
pub struct Headline {
    /// The phase's name.
    pub phase: String,
    /// Requests that ended per second, in success or failure; none where the phase's length is unknown.
    pub throughput_per_s: Option<f64>,
    /// Due instant → last byte, of successes.
    pub response_time: Times,
}

/// None where no request ended in a phase.
pub(super) fn of(tally: &RunTally, phases: &[PhaseCoverage]) -> Option<Headline> {
    let mut by_phase: BTreeMap<&Name, u64> = BTreeMap::new();
    for (key, counts) in tally.endpoints.iter().filter(|(key, _)| !key.phase.is_empty()) {
        *by_phase.entry(&key.phase).or_default() += counts.outcomes.completed();
    }
    let (phase, completed) = by_phase.into_iter().filter(|(_, n)| *n > 0).max_by_key(|(_, n)| *n)?;
    let covered_s = phases.iter().find(|p| *p.name == **phase).map(|p| p.covered_s);
    let mut response = Histogram::new();
    let its = tally.endpoints.iter().filter(|(key, _)| key.phase == *phase);
    its.for_each(|(_, counts)| response.merge(&counts.response));
    Some(Headline {
        phase: phase.to_string(),
        throughput_per_s: covered_s.filter(|s| *s > 0.0).map(|s| completed as f64 / s),
        response_time: Times::of(&response),
    })
}
