//! The tables: one row for each phase and endpoint, one for each scenario.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{Exemplar, Histogram};
use figures::{Arrivals, EndedCounts, RowKey, StatusCount};
use serde::Serialize;
use workload::Workload;

use super::counts::Outcomes;
use super::endpoint_tally::{EndpointTally, PatternTally, TotalTally};
use super::failures::{FailedRequests, FailureKind};
use super::phases::RequestPhase;
use super::streams::Streams;
use super::tally::RunTally;
use super::{Times, VirtualUsers, failures, ms};
use crate::percentiles::Percentiles;

/// The label of all requests of a phase.
const ALL_REQUESTS: &str = "(all requests)";

/// One endpoint in one phase, or all requests of one. An empty `endpoint` is the whole iteration of a sequence.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The phase its requests were due in.
    pub phase: String,
    pub scenario: String,
    /// The step's name; empty for whole iterations of a sequence.
    pub endpoint: String,
    /// What it is called in tables: its endpoint, with the scenario where several have an endpoint of that name.
    #[serde(skip)]
    pub label: String,
    /// Arrivals; none where they are counted for the whole iteration instead, and that has a row of its own.
    pub arrivals: Option<Arrivals>,
    /// Requests by outcome.
    #[serde(flatten)]
    pub outcomes: Outcomes,
    /// Requests by the status of their response, the most frequent first; empty where that was not counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statuses: Vec<StatusCount>,
    /// Its failures by kind, the most frequent first.
    #[serde(skip)]
    pub failures: Vec<FailureKind>,
    /// Requests that ended in the window of the phase, in success or failure, per second of it; of a whole iteration:
    /// iterations that ended in it. None when they were not counted, or the phase's length is unknown.
    pub throughput_per_s: Option<f64>,
    /// Of these requests, the successes; none of whole iterations, and where outcomes are not known.
    pub goodput_per_s: Option<f64>,
    /// Bytes of HTTP received, without those of TLS; none where they were not counted.
    pub bytes_in: Option<u64>,
    /// Bytes sent; none where they were not counted.
    pub bytes_out: Option<u64>,
    /// Due instant → last byte, of successes.
    pub response_time: Times,
    /// First byte sent → last byte, of successes.
    pub service_time: Times,
    /// Due instant → end of a whole iteration.
    pub iteration_time: Times,
    /// The times that tables show at the percentiles that were chosen; empty where none were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<TimeAtPercentile>,
    /// The times that tables show.
    #[serde(skip)]
    pub(super) histogram: Histogram,
    /// The phases of requests with a complete response, in their order; empty where they were not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_phases: Vec<RequestPhase>,
    /// How long requests waited because no connection could take them; none where none waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place_wait: Option<Times>,
    /// Its gRPC streams; none where nothing streamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<Streams>,
}

impl Row {
    /// What was counted, and what ended in the window of its phase; without a label and its failures.
    fn of(tally: &RunTally, key: &RowKey, counts: &EndpointTally, ended: &EndedCounts) -> Row {
        let per_second = |count: f64| tally.in_window.per_second(&key.phase, count);
        Row {
            phase: key.phase.to_string(),
            scenario: key.scenario.to_string(),
            endpoint: key.endpoint.to_string(),
            label: String::new(),
            arrivals: counts.arrivals,
            outcomes: counts.outcomes.clone(),
            statuses: counts.results.statuses(),
            failures: Vec::new(),
            throughput_per_s: match counts.outcomes.are_counted() {
                true => per_second(ended.completed()),
                false => ended.iterations().or(counts.iterations_done.map(|_| 0.0)).and_then(per_second),
            },
            goodput_per_s: counts.outcomes.failed().and_then(|_| per_second(ended.ok)),
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            response_time: Times::of(&counts.response),
            service_time: Times::of(&counts.service),
            iteration_time: Times::of(&counts.iteration),
            percentiles: Vec::new(),
            histogram: match counts.outcomes.are_counted() {
                true => counts.response.clone(),
                false => counts.iteration.clone(),
            },
            request_phases: counts.phases.of(counts.outcomes.with_response()),
            place_wait: (!counts.place_wait.is_empty()).then(|| Times::of(&counts.place_wait)),
            streams: counts.streams.summary(),
        }
    }

    /// The phase of this name of its requests, if it has that.
    pub(crate) fn request_phase(&self, name: &str) -> Option<&RequestPhase> {
        self.request_phases.iter().find(|phase| phase.name == name)
    }

    /// The times that tables show at these percentiles, ascending.
    pub(crate) fn at<'a>(
        &'a self,
        percentiles: &'a Percentiles,
    ) -> impl Iterator<Item = TimeAtPercentile> + use<'a> {
        percentiles.values().iter().map(|percentile| TimeAtPercentile {
            percentile: *percentile,
            time_ms: self.histogram.quantile(percentile / 100.0).finite_us().map(ms),
        })
    }

    /// The times that tables show: of requests, and where there are none of whole iterations.
    pub(crate) fn times(&self) -> &Times {
        if self.outcomes.are_counted() { &self.response_time } else { &self.iteration_time }
    }
}

/// A time that a share of requests did not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TimeAtPercentile {
    /// In percent.
    pub percentile: f64,
    /// None where there are no times.
    pub time_ms: Option<f64>,
}

/// One scenario over the whole run.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioTotal {
    pub name: String,
    /// Its arrivals; none where none were counted.
    pub arrivals: Option<Arrivals>,
    /// Iterations that ran to their end.
    pub iterations_done: Option<u64>,
    /// Iterations that the generator cancelled.
    pub iterations_cancelled: Option<u64>,
    /// The virtual users of an open scenario; none of a closed one, and where they were not counted.
    pub virtual_users: Option<VirtualUsers>,
    /// Its requests by outcome.
    #[serde(flatten)]
    pub outcomes: Outcomes,
}

/// The rows; `failed` are the recorded exchanges that failed.
pub(super) fn of(tally: &RunTally, workload: &Workload, failed: &[Exemplar]) -> Vec<Row> {
    let mut endpoints: Vec<_> =
        tally.endpoints.iter().filter(|(key, counts)| counts.has_content(key)).collect();
    endpoints.sort_by_key(|(key, _)| key.position(workload));
    let row = |(key, counts): (&RowKey, &EndpointTally)| {
        let is_its = |e: &&Exemplar| e.scenario == key.scenario && e.endpoint == key.endpoint;
        let failed: Vec<&Exemplar> = failed.iter().filter(is_its).collect();
        let failed = FailedRequests { outcomes: &counts.outcomes, results: &counts.results, failed: &failed };
        Row {
            failures: failures::of(&failed, tally),
            label: tally.labels.of(&key.scenario, &key.endpoint),
            ..Row::of(tally, key, counts, &tally.in_window.ended(key))
        }
    };
    endpoints.into_iter().map(row).collect()
}

/// All requests of each phase in which several endpoints have `rows`.
pub(super) fn totals(tally: &RunTally, rows: &[Row]) -> Vec<Row> {
    let endpoints = |total: &TotalTally| {
        let its = rows.iter().filter(|row| *row.phase == *total.key.phase && row.outcomes.are_counted());
        its.count()
    };
    let total = |total: &TotalTally| Row {
        label: ALL_REQUESTS.to_owned(),
        ..Row::of(tally, &total.key, &total.counts, &total.ended)
    };
    tally.totals.iter().filter(|total| endpoints(total) > 1).map(total).collect()
}

/// Rows that tables do not list, and the one that they have instead.
#[derive(Debug, Clone)]
pub struct UrlPattern {
    pub row: Row,
    /// The endpoints of its URLs.
    urls: BTreeSet<String>,
}

impl UrlPattern {
    /// Whether this row is of one of its URLs.
    pub fn has(&self, row: &Row) -> bool {
        let is_beside = self.row.phase == row.phase && self.row.scenario == row.scenario;
        is_beside && self.urls.contains(&row.endpoint)
    }
}

/// Many URLs that differ in one part, as one row.
pub(super) fn patterns(tally: &RunTally) -> Vec<UrlPattern> {
    let pattern = |PatternTally { all: total, urls, of }: &PatternTally| {
        let label = format!("{} ({urls})", tally.labels.without_origin(&total.key.endpoint));
        let row = Row { label, ..Row::of(tally, &total.key, &total.counts, &total.ended) };
        UrlPattern { row, urls: of.iter().map(|key| key.endpoint.to_string()).collect() }
    };
    tally.patterns.iter().map(pattern).collect()
}

pub(super) fn scenarios(
    tally: &RunTally,
    workload: &Workload,
    users: BTreeMap<String, VirtualUsers>,
) -> Vec<ScenarioTotal> {
    let mut totals: BTreeMap<&str, ScenarioTotal> = BTreeMap::new();
    for (key, counts) in tally.endpoints.iter().filter(|(key, _)| !key.scenario.is_empty()) {
        let total = totals.entry(&key.scenario).or_insert_with(|| ScenarioTotal {
            name: key.scenario.to_string(),
            arrivals: None,
            iterations_done: None,
            iterations_cancelled: None,
            virtual_users: users.get(&*key.scenario).cloned(),
            outcomes: Outcomes::default(),
        });
        total.arrivals = [total.arrivals, counts.arrivals].into_iter().flatten().reduce(Arrivals::plus);
        total.iterations_done = sum(total.iterations_done, counts.iterations_done);
        total.iterations_cancelled = sum(total.iterations_cancelled, counts.iterations_cancelled);
        total.outcomes.add(&counts.outcomes);
    }
    let mut totals: Vec<_> = totals.into_values().collect();
    for total in &mut totals {
        total.outcomes.requests = total.outcomes.requests.or(total.arrivals.map(|_| 0));
    }
    totals.sort_by_key(|t| workload.scenarios.iter().position(|s| s.name == t.name).unwrap_or(usize::MAX));
    totals
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    [a, b].into_iter().flatten().reduce(|a, b| a + b)
}
