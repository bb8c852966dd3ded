//! The points of k6's requests beside each other. k6 writes a point of each metric for every HTTP request: how many there
//! were, how long each took, whether it failed. Where one metric of an endpoint has fewer points than another, requests are
//! missing.

use std::collections::HashMap;

use evidence::{SinkError, UnknownBasis, UnknownRecords, UnknownSubject};

use super::{MetricPoint, PointKind, point_kind};
use crate::event::{Event, Receive};
use crate::totals::count;

/// The most endpoints whose points are counted apart; further ones are counted together.
const MAX_ENDPOINTS: usize = 10_000;

/// The points of each endpoint of a file.
#[derive(Default)]
pub(crate) struct RequestPoints {
    /// By scenario, then by endpoint.
    scenarios: HashMap<String, HashMap<String, EndpointPoints>>,
    endpoints: usize,
}

/// How many points of an endpoint there are.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct EndpointPoints {
    /// The sum of `http_reqs`.
    requests: u64,
    /// Of `http_req_duration`.
    times: u64,
    /// Of these, of a request that failed.
    failed_times: u64,
    /// Of `http_req_failed`.
    outcomes: u64,
    /// Of these, of a request that failed.
    failures: u64,
    /// Of the phases of a request, by metric.
    phases: HashMap<&'static str, u64>,
}

impl RequestPoints {
    pub(super) fn add(&mut self, point: &MetricPoint<'_>, endpoint: &str) {
        let kind = point_kind(point.metric);
        let is_of_a_request = matches!(
            kind,
            PointKind::Request | PointKind::Requests | PointKind::Failed | PointKind::Phase(_)
        );
        if !is_of_a_request {
            return;
        }
        let points = self.endpoint(&point.tags.scenario, endpoint);
        match kind {
            PointKind::Requests => points.requests += point.value.round() as u64,
            PointKind::Request => {
                points.times += 1;
                points.failed_times += u64::from(point.tags.http_outcome().is_failure());
            }
            PointKind::Failed => {
                points.outcomes += 1;
                points.failures += u64::from(point.value > 0.0);
            }
            PointKind::Phase(metric) => *points.phases.entry(metric.name()).or_default() += 1,
            _ => {}
        }
    }

    fn endpoint(&mut self, scenario: &str, endpoint: &str) -> &mut EndpointPoints {
        let is_known = self.scenarios.get(scenario).is_some_and(|known| known.contains_key(endpoint));
        let (scenario, endpoint) = match is_known || self.endpoints < MAX_ENDPOINTS {
            true => (scenario, endpoint),
            false => ("", ""),
        };
        self.endpoints += usize::from(!is_known);
        if !self.scenarios.contains_key(scenario) {
            self.scenarios.insert(scenario.to_owned(), HashMap::new());
        }
        let endpoints = self.scenarios.entry(scenario.to_owned()).or_default();
        endpoints.entry(endpoint.to_owned()).or_default()
    }

    /// Pass on what the points of each endpoint contradict.
    pub(super) fn finish(&self, receiver: &mut dyn Receive) -> Result<(), SinkError> {
        let of_scenarios = self.scenarios.iter().flat_map(|(scenario, endpoints)| {
            endpoints.iter().map(move |(endpoint, points)| (scenario, endpoint, points))
        });
        let mut found: Vec<UnknownRecords> = of_scenarios
            .filter_map(|(scenario, endpoint, points)| points.contradiction(scenario, endpoint))
            .collect();
        found.sort_by(|a, b| (&a.scenario, &a.endpoint).cmp(&(&b.scenario, &b.endpoint)));
        found.into_iter().try_for_each(|unknown| receiver.receive(Event::Contradiction(unknown)))
    }
}

impl EndpointPoints {
    /// That requests without a time were counted is in the evidence: `http_reqs` has them.
    fn contradiction(&self, scenario: &str, endpoint: &str) -> Option<UnknownRecords> {
        let phases = self.phases.values().copied().max().unwrap_or(0);
        let counted = self.requests.max(self.times);
        let all = counted.max(self.outcomes).max(phases);
        let (without_time, without_outcome) = (all - self.times, all - self.outcomes);
        let doubtful = match self.outcomes {
            0 => 0,
            _ => {
                let more_failed = self.failures.saturating_sub(self.failed_times + without_time);
                more_failed.max(self.failed_times.saturating_sub(self.failures + without_outcome))
            }
        };
        let more = all - counted;
        (more > 0 || doubtful > 0).then(|| UnknownRecords {
            of: UnknownSubject::Requests,
            basis: UnknownBasis::Records,
            scenario: scenario.to_owned(),
            endpoint: endpoint.to_owned(),
            more: Some(more),
            doubtful,
            why: format!(
                "Of `{endpoint}` there are {} in `http_reqs`, {} points of `http_req_duration` ({} failed) and {} of \
                 `http_req_failed` ({} true).",
                count(self.requests),
                count(self.times),
                count(self.failed_times),
                count(self.outcomes),
                count(self.failures)
            ),
        })
    }
}
