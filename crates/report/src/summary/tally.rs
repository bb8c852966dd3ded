//! The figures of a run, arranged as tables and plots need them.

use std::collections::BTreeMap;

use evidence::run::ReadError;
use evidence::{Key, Missing, Name, Outcome, Run, RunEnd};
use figures::{Arrivals, CheckCounts, ConnectionTimes, Figures, ResultCounts, Row, RowKey};
use workload::Workload;

use super::bins::Bins;
use super::cost::AnswersBySecond;
use super::counts::{Check, Outcomes};
use super::endpoint_tally::{self, EndpointTally, PatternTally, TotalTally};
use super::in_window::InWindow;
use super::labels::Labels;
use super::{Connections, Generator, Times};

/// The figures of a run by what tables and plots show.
#[derive(Debug)]
pub(super) struct RunTally {
    pub endpoints: BTreeMap<RowKey, EndpointTally>,
    /// All requests of each phase, in the order of the phases.
    pub totals: Vec<TotalTally>,
    /// URLs that differ in one part.
    pub patterns: Vec<PatternTally>,
    /// By the phase in which requests ended, not the one in which they were due.
    pub in_window: InWindow,
    pub bins: Bins,
    pub answers: AnswersBySecond,
    pub labels: Labels,
    figures: Figures,
    /// Whether the run counts the requests that stalls of the generator perturbed.
    counts_perturbed: bool,
}

/// Everything that `run`, which offered `workload`, has counted.
pub(super) fn of(run: &dyn Run, workload: &Workload) -> Result<RunTally, ReadError> {
    let figures = Figures::fold(run, workload)?;
    let endpoints = endpoint_tally::by_row(&figures, workload);
    let mut labels = Labels::default();
    for (key, _) in endpoints.iter().filter(|(key, counts)| counts.has_content(key)) {
        labels.add(&key.scenario, &key.endpoint);
    }
    let checked = figures.rows.iter().filter(|row| !row.checks.is_empty());
    checked.for_each(|row| labels.add(&row.key.scenario, &row.key.endpoint));
    Ok(RunTally {
        endpoints,
        totals: endpoint_tally::totals(&figures),
        patterns: endpoint_tally::patterns(&figures),
        in_window: InWindow::of(run, workload, &figures)?,
        bins: Bins::of(run, &figures),
        answers: AnswersBySecond::of(&figures.seconds),
        labels,
        figures,
        counts_perturbed: run.manifest().source.is_none() && run.manifest().counts_perturbed(),
    })
}

impl RunTally {
    /// What was folded of the run.
    pub(super) fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Outcomes of the whole run.
    pub(super) fn outcomes(&self) -> Outcomes {
        let requests = self.arrivals().map(|_| 0);
        let lacks_outcomes = self.figures.missing.contains(&Missing::Outcomes);
        let mut all = Outcomes { requests, unknown: lacks_outcomes.then_some(0), ..Outcomes::default() };
        for endpoint in self.endpoints.values() {
            all.add(&endpoint.outcomes);
        }
        all
    }

    /// Requests of the whole run by outcome, status and reason.
    pub(super) fn results(&self) -> ResultCounts {
        let mut all = ResultCounts::default();
        self.endpoints.values().for_each(|endpoint| all.merge(&endpoint.results));
        all
    }

    /// Arrivals of the whole run.
    pub(super) fn arrivals(&self) -> Option<Arrivals> {
        self.endpoints.values().filter_map(|endpoint| endpoint.arrivals).reduce(Arrivals::plus)
    }

    /// The counts of every check, over all phases.
    pub(super) fn checks(&self) -> Vec<Check> {
        let of_row = |row: &'_ Row| {
            let (scenario, endpoint) = (row.key.scenario.clone(), row.key.endpoint.clone());
            move |(name, counts): (&Name, &CheckCounts)| {
                ((scenario.clone(), endpoint.clone(), name.clone()), *counts)
            }
        };
        let mut sums: BTreeMap<(Name, Name, Name), CheckCounts> = BTreeMap::new();
        for (check, counts) in self.figures.rows.iter().flat_map(|row| row.checks.iter().map(of_row(row))) {
            let sum = sums.entry(check).or_default();
            (sum.passed, sum.failed) = (sum.passed + counts.passed, sum.failed + counts.failed);
        }
        let check = |((scenario, endpoint, name), counts): (&(Name, Name, Name), &CheckCounts)| Check {
            scenario: scenario.to_string(),
            endpoint: endpoint.to_string(),
            name: name.to_string(),
            label: self.labels.of(scenario, endpoint),
            passed: counts.passed,
            failed: counts.failed,
        };
        sums.iter().map(check).collect()
    }

    /// The connections that were opened to each target.
    pub(super) fn connections(&self) -> Vec<Connections> {
        let connections = |(target, times): (&Name, &ConnectionTimes)| Connections {
            target: target.to_string(),
            connecting: Times::of(&times.connecting),
            tls_handshaking: Times::of(&times.tls_handshaking),
        };
        self.figures.connections.iter().map(connections).collect()
    }

    /// Numbers of the generator itself.
    pub(super) fn generator(&self, end: Option<&RunEnd>) -> Generator {
        let generator = &self.figures.generator;
        Generator {
            start_lag: Times::of(&generator.start_lag),
            loop_stall: Times::of(&generator.loop_stall),
            bytes_in: generator.bytes_in,
            bytes_out: generator.bytes_out,
            perturbed_requests: self.counts_perturbed.then_some(generator.perturbed_requests),
            folded_ticks: end.map(|e| e.folded_ticks),
            folded_endpoints: end.map(|e| e.folded_endpoints),
        }
    }
}

/// How the requests of a key ended; none where the source of an imported run does not record it.
pub(super) fn known_outcome(run: &dyn Run, key: &Key) -> Option<Outcome> {
    let lacks = run.manifest().source.as_ref().is_some_and(|source| source.lacks(Missing::Outcomes));
    key.outcome.filter(|_| !lacks)
}
