//! What was counted of one endpoint in one phase.

use std::collections::BTreeMap;

use evidence::{Histogram, Missing};
use figures::{Arrivals, EndedCounts, Figures, PhaseTotal, ResultCounts, Row, RowKey, UrlPattern};
use workload::{Flow, Step, Think, Workload};

use super::counts::Outcomes;
use super::phases::PhaseSums;
use super::streams::StreamTally;

/// What was counted of one endpoint in one phase.
#[derive(Debug, Default)]
pub(super) struct EndpointTally {
    pub arrivals: Option<Arrivals>,
    pub outcomes: Outcomes,
    pub iterations_done: Option<u64>,
    pub iterations_cancelled: Option<u64>,
    pub bytes_in: Option<u64>,
    pub bytes_out: Option<u64>,
    /// Response times of successes.
    pub response: Histogram,
    /// Service times of successes.
    pub service: Histogram,
    pub iteration: Histogram,
    /// How long requests waited because no connection could take them.
    pub place_wait: Histogram,
    /// Phases of requests with a complete response.
    pub phases: PhaseSums,
    pub streams: StreamTally,
    /// Requests by outcome, status and reason.
    pub results: ResultCounts,
}

/// Several endpoints of one phase as one: all, or those whose URLs have one pattern.
#[derive(Debug)]
pub(super) struct TotalTally {
    /// Names the phase alone, or the pattern.
    pub key: RowKey,
    pub counts: EndpointTally,
    /// What ended in its window.
    pub ended: EndedCounts,
}

/// URLs of one phase and scenario that differ in one part.
#[derive(Debug)]
pub(super) struct PatternTally {
    pub all: TotalTally,
    /// How many URLs, in words.
    pub urls: String,
    /// The keys of its endpoints.
    pub of: Vec<RowKey>,
}

impl EndpointTally {
    /// What `row` counted in a run whose source records outcomes, or does not.
    fn of(row: &Row, has_outcomes: bool) -> EndpointTally {
        let outcomes = Outcomes {
            requests: row.requests,
            by_outcome: if has_outcomes { row.outcomes.clone() } else { BTreeMap::new() },
            unknown: (!has_outcomes && !row.outcomes.is_empty()).then(|| row.responses()),
            retried: row.retried,
        };
        let mut place_wait = Histogram::new();
        row.place_waits.values().for_each(|waits| place_wait.merge(waits));
        EndpointTally {
            arrivals: row.arrivals,
            outcomes,
            iterations_done: row.iterations_done,
            iterations_cancelled: row.iterations_cancelled,
            bytes_in: row.bytes_in,
            bytes_out: row.bytes_out,
            response: row.ok.clone(),
            service: row.service_ok.clone(),
            iteration: row.iteration.clone(),
            place_wait,
            phases: PhaseSums::of_parts(&row.part_ns),
            streams: StreamTally {
                first: row.first_message.clone(),
                received: row.messages_in,
                sent: row.messages_out,
            },
            results: row.results.clone(),
        }
    }

    /// Whether there are arrivals, requests or iterations, and not only counters that stayed empty.
    pub(super) fn has_content(&self, key: &RowKey) -> bool {
        let has_iterations = !self.iteration.is_empty() && !key.endpoint.is_empty();
        self.arrivals.is_some() || self.outcomes.are_counted() || has_iterations
    }

    /// Failed requests, as far as they are known, and dropped arrivals: a quantile of everything that was due counts them as
    /// infinitely slow.
    pub(super) fn infinitely_slow(&self) -> u64 {
        self.outcomes.known_failures() + self.arrivals.map_or(0, |arrivals| arrivals.dropped())
    }

    /// Whether any request ended, in whatever outcome.
    pub(super) fn has_responses(&self) -> bool {
        !self.outcomes.by_outcome.is_empty() || self.outcomes.unknown.is_some()
    }

    /// Whatever counts arrivals counts what becomes of them too: where none became a request, or ended, there were none.
    fn complete(&mut self, key: &RowKey) {
        let counted = match &*key.endpoint {
            "" => &mut self.iterations_done,
            _ => &mut self.outcomes.requests,
        };
        *counted = counted.or(self.arrivals.map(|_| 0));
    }
}

/// By row, in a table where each request has one row.
pub(super) fn by_row(figures: &Figures, workload: &Workload) -> BTreeMap<RowKey, EndpointTally> {
    let has_outcomes = !figures.missing.contains(&Missing::Outcomes);
    let tally = |row: &Row| (row.key.clone(), EndpointTally::of(row, has_outcomes));
    let mut endpoints = figures.rows.iter().map(tally).collect();
    fold_single_steps(&mut endpoints, workload);
    for (key, counts) in &mut endpoints {
        counts.complete(key);
    }
    endpoints
}

/// All requests of each phase.
pub(super) fn totals(figures: &Figures) -> Vec<TotalTally> {
    let has_outcomes = !figures.missing.contains(&Missing::Outcomes);
    let total = |PhaseTotal { row, ended }: PhaseTotal| {
        let mut counts = EndpointTally::of(&row, has_outcomes);
        counts.outcomes.requests = counts.outcomes.requests.or(counts.arrivals.map(|_| 0));
        TotalTally { key: row.key, counts, ended }
    };
    figures.phase_totals().into_iter().map(total).collect()
}

/// URLs that differ in one part.
pub(super) fn patterns(figures: &Figures) -> Vec<PatternTally> {
    let has_outcomes = !figures.missing.contains(&Missing::Outcomes);
    let pattern = |pattern: UrlPattern| {
        let (urls, counts) = (pattern.urls(), EndpointTally::of(&pattern.row, has_outcomes));
        let UrlPattern { row, ended, of } = pattern;
        PatternTally { all: TotalTally { key: row.key, counts, ended }, urls, of }
    };
    figures.url_patterns().into_iter().map(pattern).collect()
}

/// Count the whole iterations of a scenario whose iterations are one request and nothing else as that request: a row of
/// their own would say again what its row says.
fn fold_single_steps(endpoints: &mut BTreeMap<RowKey, EndpointTally>, workload: &Workload) {
    let wholes: Vec<RowKey> = endpoints.keys().filter(|key| key.endpoint.is_empty()).cloned().collect();
    for whole in wholes {
        let Some(step) = only_step(workload, &whole.scenario) else { continue };
        let of_step = RowKey { endpoint: step.name.as_str().into(), ..whole.clone() };
        // Without any request there is nothing that their row would repeat.
        if endpoints.contains_key(&of_step)
            && let Some(counted) = endpoints.remove(&whole)
            && let Some(step) = endpoints.get_mut(&of_step)
        {
            step.arrivals = [step.arrivals, counted.arrivals].into_iter().flatten().reduce(Arrivals::plus);
            step.iterations_done = step.iterations_done.or(counted.iterations_done);
            step.iterations_cancelled = step.iterations_cancelled.or(counted.iterations_cancelled);
            step.iteration.merge(&counted.iteration);
        }
    }
}

/// The step of a scenario whose iterations are one request and nothing else.
fn only_step<'w>(workload: &'w Workload, scenario: &str) -> Option<&'w Step> {
    let scenario = workload.scenarios.iter().find(|s| s.name == scenario)?;
    match &scenario.flow {
        Flow::Sequence(steps) => match steps.as_slice() {
            [step] => (step.think == Think::default()).then_some(step),
            _ => None,
        },
        _ => None,
    }
}
