//! The tables: one row for each phase and endpoint, one for each scenario.

use std::collections::BTreeMap;

use evidence::Outcome;
use serde::Serialize;
use workload::Workload;

use super::phases::RequestPhase;
use super::streams::Streams;
use super::sweep::{Place, Sweep, Tally};
use super::{PhaseSpan, Times, VirtualUsers};

/// Arrivals: what was due and what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Arrivals {
    /// Due.
    pub scheduled: u64,
    /// Begun.
    pub started: u64,
    /// Never begun because no virtual user was free.
    pub dropped_cap: u64,
    /// Never begun through the generator's own fault.
    pub dropped_late: u64,
}

impl Arrivals {
    /// Due and never begun.
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

/// Requests and how they ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    /// Requests begun; none where nothing was counted.
    pub requests: Option<u64>,
    /// How many ended in each outcome.
    pub by_outcome: BTreeMap<Outcome, u64>,
}

impl Outcomes {
    /// Correct answers.
    pub fn ok(&self) -> u64 {
        self.by_outcome.get(&Outcome::Ok).copied().unwrap_or(0)
    }

    /// Failures of the target; what the generator itself gave up is not one.
    pub fn failed(&self) -> u64 {
        self.by_outcome.iter().filter(|(outcome, _)| outcome.is_failure()).map(|(_, n)| n).sum()
    }

    /// Given up by the generator.
    pub fn cancelled(&self) -> u64 {
        self.by_outcome.get(&Outcome::Cancelled).copied().unwrap_or(0)
    }

    /// Ended, right or wrong, and not given up by the generator.
    pub fn answered(&self) -> u64 {
        self.ok() + self.failed()
    }

    /// Ended with a complete response, whatever it said.
    pub fn with_answer(&self) -> u64 {
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

/// One endpoint in one phase. An empty `endpoint` is the whole iteration of a sequence.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The phase its requests were due in.
    pub phase: String,
    /// The scenario's name.
    pub scenario: String,
    /// The step's name; empty for whole iterations of a sequence.
    pub endpoint: String,
    /// Arrivals; none where they are counted for the whole iteration instead.
    pub arrivals: Option<Arrivals>,
    /// Requests and how they ended.
    #[serde(flatten)]
    pub outcomes: Outcomes,
    /// Answers a second, right or wrong; none when the phase's length is not known.
    pub completed_per_s: Option<f64>,
    /// Due instant → last byte, of successes.
    pub response_time: Times,
    /// First byte sent → last byte, of successes.
    pub service_time: Times,
    /// Due instant → end of a whole iteration.
    pub iteration_time: Times,
    /// The phases of answered requests, in their order; empty where they were not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_phases: Vec<RequestPhase>,
    /// What went over its gRPC streams; none where nothing streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
}

impl Row {
    /// What a table calls it.
    pub fn label(&self) -> &str {
        if self.endpoint.is_empty() { "(whole iteration)" } else { &self.endpoint }
    }

    /// Whether it is about requests, and not about whole iterations or arrivals alone.
    pub fn has_requests(&self) -> bool {
        self.outcomes.requests.is_some() || !self.outcomes.by_outcome.is_empty()
    }
}

/// One scenario over the whole run.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioTotal {
    /// Its name.
    pub name: String,
    /// Its arrivals; none where none were counted.
    pub arrivals: Option<Arrivals>,
    /// Iterations that ran to their end.
    pub iterations_done: Option<u64>,
    /// Iterations the generator gave up.
    pub iterations_cancelled: Option<u64>,
    /// Of an open model: its virtual users; none of a closed one, and where nobody watched.
    pub virtual_users: Option<VirtualUsers>,
    /// Its requests and how they ended.
    #[serde(flatten)]
    pub outcomes: Outcomes,
}

/// A check and how often it held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The scenario's name.
    pub scenario: String,
    /// The step's name.
    pub endpoint: String,
    /// The check's name.
    pub name: String,
    /// Responses for which it held.
    pub passed: u64,
    /// Responses for which it did not hold.
    pub failed: u64,
}

/// Where the plan has a phase, scenario or step; what it does not name comes after what it does.
pub(super) fn plan_order(workload: &Workload, place: &Place) -> (usize, usize, usize) {
    let phase = workload.phases.iter().position(|p| *p.name == *place.phase);
    let scenario = workload.scenarios.iter().position(|s| *s.name == *place.scenario);
    let step = scenario
        .and_then(|at| workload.scenarios[at].flow.steps().position(|step| *step.name == *place.endpoint));
    // Set-up requests belong before the first phase.
    let phase = if &*place.phase == "setup" { 0 } else { phase.map_or(usize::MAX, |at| at + 1) };
    (phase, scenario.unwrap_or(usize::MAX), step.unwrap_or(usize::MAX))
}

pub(super) fn of(sweep: &Sweep, workload: &Workload, phases: &[PhaseSpan]) -> Vec<Row> {
    let mut places: Vec<_> = sweep.places.iter().collect();
    places.sort_by_key(|(place, _)| plan_order(workload, place));
    let row = |(place, tally): (&Place, &Tally)| {
        let covered = phases.iter().find(|p| *p.name == *place.phase).map(|p| p.covered_s);
        let answered = tally.outcomes.answered() as f64;
        Row {
            phase: place.phase.to_string(),
            scenario: place.scenario.to_string(),
            endpoint: place.endpoint.to_string(),
            arrivals: tally.arrivals,
            outcomes: tally.outcomes.clone(),
            completed_per_s: covered.filter(|s| *s > 0.0).map(|s| answered / s),
            response_time: Times::of(&tally.response),
            service_time: Times::of(&tally.service),
            iteration_time: Times::of(&tally.iteration),
            request_phases: tally.phases.of(tally.outcomes.with_answer()),
            streams: tally.streams.told(),
        }
    };
    places.into_iter().map(row).filter(is_worth_showing).collect()
}

/// A row without arrivals, requests or iterations only says that some counter had a name.
fn is_worth_showing(row: &Row) -> bool {
    row.arrivals.is_some() || row.has_requests() || row.iteration_time.count > 0 && !row.endpoint.is_empty()
}

pub(super) fn scenarios(
    sweep: &Sweep,
    workload: &Workload,
    users: BTreeMap<String, VirtualUsers>,
) -> Vec<ScenarioTotal> {
    let mut totals: BTreeMap<&str, ScenarioTotal> = BTreeMap::new();
    for (place, tally) in sweep.places.iter().filter(|(place, _)| !place.scenario.is_empty()) {
        let total = totals.entry(&place.scenario).or_insert_with(|| ScenarioTotal {
            name: place.scenario.to_string(),
            arrivals: None,
            iterations_done: None,
            iterations_cancelled: None,
            virtual_users: users.get(&*place.scenario).cloned(),
            outcomes: Outcomes::default(),
        });
        total.arrivals = [total.arrivals, tally.arrivals].into_iter().flatten().reduce(Arrivals::plus);
        total.iterations_done = sum(total.iterations_done, tally.iterations_done);
        total.iterations_cancelled = sum(total.iterations_cancelled, tally.iterations_cancelled);
        total.outcomes.add(&tally.outcomes);
    }
    let mut totals: Vec<_> = totals.into_values().collect();
    totals.sort_by_key(|t| workload.scenarios.iter().position(|s| s.name == t.name).unwrap_or(usize::MAX));
    totals
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    [a, b].into_iter().flatten().reduce(|a, b| a + b)
}
