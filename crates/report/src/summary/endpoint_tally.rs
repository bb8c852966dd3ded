//! What was counted of one endpoint in one phase.

use std::collections::BTreeMap;

use evidence::Histogram;
use evidence::key::Name;
use workload::{Flow, Step, Think, Workload};

use super::counts::{Arrivals, Outcomes};
use super::phases::PhaseSums;
use super::results::ResultCounts;
use super::streams::StreamTally;

/// The key of a row: one endpoint of a scenario in one phase.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct EndpointKey {
    pub phase: Name,
    pub scenario: Name,
    pub endpoint: Name,
}

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

impl EndpointTally {
    /// Whether there are arrivals, requests or iterations, and not only counters that stayed empty.
    pub(super) fn has_content(&self, key: &EndpointKey) -> bool {
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
    pub(super) fn complete(&mut self, key: &EndpointKey) {
        let counted = match &*key.endpoint {
            "" => &mut self.iterations_done,
            _ => &mut self.outcomes.requests,
        };
        *counted = counted.or(self.arrivals.map(|_| 0));
    }

    pub(super) fn arrivals_mut(&mut self) -> &mut Arrivals {
        self.arrivals.get_or_insert_default()
    }
}

/// Count the whole iterations of a scenario whose iterations are one request and nothing else as that request: a row of
/// their own would say again what its row says.
pub(super) fn fold_single_steps(endpoints: &mut BTreeMap<EndpointKey, EndpointTally>, workload: &Workload) {
    let wholes: Vec<EndpointKey> = endpoints.keys().filter(|key| key.endpoint.is_empty()).cloned().collect();
    for whole in wholes {
        let Some(step) = only_step(workload, &whole.scenario) else { continue };
        let of_step = EndpointKey { endpoint: step.name.as_str().into(), ..whole.clone() };
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
