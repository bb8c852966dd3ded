//! Why requests failed: each kind of failure with its number, its reasons and an example.

use std::collections::BTreeMap;

use evidence::{Exemplar, Name, Outcome};
use figures::{ReasonCount, ResultCounts, StatusCount};
use serde::Serialize;

use super::Outcomes;
use super::tally::RunTally;

/// A longer beginning of a response is cut, in characters.
const MAX_BODY: usize = 80;

/// One kind of failure: one outcome, with one status where the run file counts statuses.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureKind {
    /// How the requests ended, the status of their response, and how many they are.
    #[serde(flatten)]
    pub ended: StatusCount,
    /// Why, the most frequent reason first; empty where reasons were not counted.
    pub reasons: Vec<ReasonCount>,
    /// The endpoints of which they are, the one with most first; empty where it is the failures of one endpoint.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<FailedEndpoint>,
    /// The first one that was recorded; none where none was.
    pub example: Option<FailureExample>,
}

/// How many requests of one endpoint failed, over all phases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedEndpoint {
    pub scenario: String,
    pub endpoint: String,
    /// What its step is called in tables.
    #[serde(skip)]
    pub label: String,
    pub count: u64,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureExample {
    pub scenario: String,
    pub endpoint: String,
    /// What its step is called in tables.
    #[serde(skip)]
    pub label: String,
    /// HTTP status, where a response began.
    pub status: Option<u16>,
    /// What was wrong.
    pub detail: String,
    /// The first line of the response's body, where that is not markup.
    pub body: String,
}

impl FailureKind {
    /// The example in words, or the most frequent reason where no exchange was recorded.
    pub(crate) fn in_words(&self) -> String {
        let reason = || self.reasons.first().and_then(|of| of.reason.clone());
        let example = self.example.as_ref().map(FailureExample::in_words);
        example.or_else(reason).unwrap_or_else(|| "no exchange was recorded".to_owned())
    }

    /// The same without the step.
    pub(crate) fn reason_in_words(&self) -> String {
        let reason = || self.reasons.first().and_then(|of| of.reason.clone());
        self.example.as_ref().map(FailureExample::about).or_else(reason).unwrap_or_default()
    }

    /// The reasons with their counts, where there are several.
    pub(crate) fn several_reasons(&self) -> impl Iterator<Item = (u64, &str)> {
        let several = if self.reasons.len() > 1 { self.reasons.as_slice() } else { &[] };
        several.iter().map(|of| (of.count, of.reason.as_deref().unwrap_or("other reasons")))
    }
}

impl FailureExample {
    /// `GET /users: status 503, expected 200 to 399 · too busy`
    fn in_words(&self) -> String {
        match self.about() {
            about if about.is_empty() => self.label.clone(),
            about => format!("{}: {about}", self.label),
        }
    }

    /// `status 503, expected 200 to 399 · too busy`
    fn about(&self) -> String {
        let about = [self.detail.as_str(), &self.body].into_iter().filter(|text| !text.is_empty());
        about.collect::<Vec<_>>().join(" · ")
    }
}

/// What is known of the requests of a run, or of one endpoint in one phase, that failed.
pub(super) struct FailedRequests<'a> {
    pub outcomes: &'a Outcomes,
    pub results: &'a ResultCounts,
    /// The recorded exchanges.
    pub failed: &'a [&'a Exemplar],
}

/// Each kind of failure, the most frequent first.
pub(super) fn of(requests: &FailedRequests<'_>, tally: &RunTally) -> Vec<FailureKind> {
    let FailedRequests { outcomes, results, failed } = requests;
    let kind = |ended: StatusCount| FailureKind {
        reasons: results.reasons(&ended),
        endpoints: Vec::new(),
        example: example(failed, &ended, tally),
        ended,
    };
    kinds(outcomes, results).into_iter().map(kind).collect()
}

/// Each kind of failure of the whole run, with its endpoints.
pub(super) fn of_run(requests: &FailedRequests<'_>, tally: &RunTally) -> Vec<FailureKind> {
    let with_endpoints = |kind: FailureKind| FailureKind {
        endpoints: endpoints(&kind.ended, requests.results, tally),
        ..kind
    };
    of(requests, tally).into_iter().map(with_endpoints).collect()
}

/// The endpoints of which there are failures of this kind; `all` are the results of the run.
fn endpoints(kind: &StatusCount, all: &ResultCounts, tally: &RunTally) -> Vec<FailedEndpoint> {
    let counts_statuses = all.count_of(kind) > 0;
    let mut sums: BTreeMap<(&Name, &Name), u64> = BTreeMap::new();
    for (key, counts) in &tally.endpoints {
        let count = match counts_statuses {
            true => counts.results.count_of(kind),
            false => counts.outcomes.by_outcome.get(&kind.outcome).copied().unwrap_or(0),
        };
        *sums.entry((&key.scenario, &key.endpoint)).or_default() += count;
    }
    let failed = sums.into_iter().filter(|(_, count)| *count > 0);
    let endpoint = |((scenario, endpoint), count): ((&Name, &Name), u64)| FailedEndpoint {
        scenario: scenario.to_string(),
        endpoint: endpoint.to_string(),
        label: tally.labels.of(scenario, endpoint),
        count,
    };
    let mut endpoints: Vec<FailedEndpoint> = failed.map(endpoint).collect();
    endpoints.sort_by_key(|of| std::cmp::Reverse(of.count));
    endpoints
}

/// The kinds of failures, with their statuses where those were counted.
fn kinds(outcomes: &Outcomes, results: &ResultCounts) -> Vec<StatusCount> {
    let mut counted = results.statuses();
    counted.retain(|of| of.outcome.is_failure());
    if counted.is_empty() {
        let failures = outcomes.failures().into_iter();
        return failures.map(|(outcome, count)| StatusCount { status: None, outcome, count }).collect();
    }
    counted
}

fn example(failed: &[&Exemplar], kind: &StatusCount, tally: &RunTally) -> Option<FailureExample> {
    // The code of a gRPC status is the outcome; its HTTP status says nothing of it.
    let has_status = |e: &Exemplar| match (&kind.status, kind.outcome) {
        (None, _) | (_, Outcome::Grpc(_)) => true,
        (Some(status), _) => {
            status.parse::<u16>().map_or(true, |status| e.status.is_none_or(|of| of == status))
        }
    };
    let first = failed.iter().filter(|e| e.outcome == kind.outcome && has_status(e)).min_by_key(|e| e.due)?;
    Some(FailureExample {
        scenario: first.scenario.to_string(),
        endpoint: first.endpoint.to_string(),
        label: tally.labels.of(&first.scenario, &first.endpoint),
        status: first.status,
        detail: first.detail.clone(),
        body: beginning(&first.response_body),
    })
}

fn beginning(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.starts_with('<') { String::new() } else { line.chars().take(MAX_BODY).collect() }
}
