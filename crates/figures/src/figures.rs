//! Everything that a run counted.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Histogram, Missing, Name};
use workload::{Filter, Measure};

use crate::ended::EndedCounts;
use crate::generator::{ConnectionTimes, GeneratorFigures};
use crate::row::Row;
use crate::row_key::RowKey;
use crate::scenario_phase::ScenarioPhase;
use crate::second::SecondCounts;
use crate::window::{PhaseWindow, WindowCounts};

/// Everything that a run counted, in the order of its plan.
#[derive(Debug, Default)]
pub struct Figures {
    /// One for each endpoint of each scenario in each phase, and one for the whole iterations of a scenario where something
    /// was counted for these.
    pub rows: Vec<Row>,
    /// What ended of a row in the window of its phase, whenever it was due.
    pub ended: BTreeMap<RowKey, EndedCounts>,
    /// One for each scenario in each phase.
    pub scenario_phases: Vec<ScenarioPhase>,
    /// The phases.
    pub phases: Vec<PhaseWindow>,
    /// By phase; empty where the run file does not say in which phase requests ended.
    pub in_window: Vec<WindowCounts>,
    /// Of the whole run; one for each of its seconds.
    pub seconds: Vec<SecondCounts>,
    /// Of the whole run.
    pub generator: GeneratorFigures,
    /// By target.
    pub connections: BTreeMap<Name, ConnectionTimes>,
    /// What the source of an imported run did not record.
    pub missing: BTreeSet<Missing>,
}

/// Observations of one row: those with a time, and those without one.
#[derive(Debug)]
pub struct TimeGroup<'a> {
    /// The row.
    pub key: &'a RowKey,
    /// Times of successes.
    pub times: &'a Histogram,
    /// Failed requests and dropped arrivals.
    pub infinitely_slow: u64,
}

impl TimeGroup<'_> {
    /// How many observations it has.
    pub fn count(&self) -> u64 {
        self.times.count() + self.infinitely_slow
    }

    /// Share of failed requests and dropped arrivals; 0 for an empty group.
    pub fn infinitely_slow_share(&self) -> f64 {
        self.infinitely_slow as f64 / self.count().max(1) as f64
    }
}

impl Figures {
    /// The rows of endpoints, without those of whole iterations.
    pub fn endpoints(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.key.endpoint.is_empty())
    }

    /// The observations that a measure of times with this filter counts, by row; empty for other measures.
    pub fn time_groups(&self, measure: &Measure, filter: &Filter) -> Vec<TimeGroup<'_>> {
        let endpoints = self.endpoints().filter(|endpoint| endpoint.key.matches(filter));
        let all: Vec<TimeGroup<'_>> = match measure {
            Measure::ResponseTime(_) => endpoints
                .map(|e| TimeGroup { key: &e.key, times: &e.ok, infinitely_slow: e.infinitely_slow() })
                .collect(),
            Measure::ServiceTime(_) => endpoints
                .map(|e| TimeGroup { key: &e.key, times: &e.service_ok, infinitely_slow: e.service_failed })
                .collect(),
            Measure::IterationTime(_) => {
                let iterations = self.scenario_phases.iter().filter(|s| s.key.matches(filter));
                iterations
                    .map(|s| TimeGroup {
                        key: &s.key,
                        times: &s.iteration_ok,
                        infinitely_slow: s.iteration_failed.count() + s.dropped(),
                    })
                    .collect()
            }
            _ => Vec::new(),
        };
        all.into_iter().filter(|group| group.count() > 0).collect()
    }
}
