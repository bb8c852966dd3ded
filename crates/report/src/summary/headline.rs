//! The numbers that a reader looks for first.

use serde::Serialize;

use super::counts::Outcomes;
use super::endpoint_tally::TotalTally;
use super::tally::RunTally;
use super::{PhaseCoverage, Row, Times};

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
    /// Its requests by outcome, those included that ended later.
    #[serde(skip)]
    pub outcomes: Outcomes,
}

/// None where no request ended in a phase.
pub(super) fn of(tally: &RunTally) -> Option<Headline> {
    let named = tally.totals.iter().filter(|total| !total.key.phase.is_empty());
    let ended = |total: &&TotalTally| total.counts.outcomes.completed();
    let TotalTally { key, counts, ended } =
        named.filter(|total| ended(total) > 0).max_by_key(|total| ended(total))?;
    let per_second = |count| tally.in_window.per_second(&key.phase, count);
    Some(Headline {
        phase: key.phase.to_string(),
        throughput_per_s: per_second(ended.completed()),
        goodput_per_s: per_second(ended.ok).filter(|_| counts.outcomes.unknown.is_none()),
        response_time: Times::of(&counts.response),
        outcomes: counts.outcomes.clone(),
    })
}

impl Headline {
    /// All requests of the phase that is under way: the last in which any ended.
    pub(super) fn of_last_phase(rows: &[Row], totals: &[Row], phases: &[PhaseCoverage]) -> Option<Headline> {
        let of_phase = |phase: &PhaseCoverage| {
            // Where its requests have one row, there is no row of all.
            let mut all = totals.iter().chain(rows).filter(|row| row.phase == phase.name);
            all.find(|row| row.outcomes.completed() > 0)
        };
        let row = phases.iter().rev().find_map(of_phase)?;
        Some(Headline {
            phase: row.phase.clone(),
            throughput_per_s: row.throughput_per_s,
            goodput_per_s: row.goodput_per_s,
            response_time: row.response_time,
            outcomes: row.outcomes.clone(),
        })
    }
}
