//! Why requests failed: each kind of failure with its number and an example.

use evidence::{Exemplar, Outcome};
use serde::Serialize;

use super::Outcomes;
use super::tally::RunTally;

/// A longer beginning of a response is cut, in characters.
const MAX_BODY: usize = 80;

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureKind {
    /// How the requests ended.
    pub outcome: Outcome,
    /// How many requests.
    pub count: u64,
    /// The first one that was recorded; none where none was.
    pub example: Option<FailureExample>,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailureExample {
    /// The scenario's name.
    pub scenario: String,
    /// The step's name.
    pub endpoint: String,
    /// What its step is called in tables.
    #[serde(skip)]
    pub label: String,
    /// HTTP status, where a response began.
    pub status: Option<u16>,
    /// What was wrong.
    pub detail: String,
    /// The first line of the response's body, where that is no markup.
    pub body: String,
}

impl FailureExample {
    /// `GET /users: status 503, expected 200 to 399 · too busy`
    pub(crate) fn in_words(&self) -> String {
        let mut text = self.label.clone();
        let about = [&self.detail, &self.body].into_iter().filter(|text| !text.is_empty());
        for (index, part) in about.enumerate() {
            text.push_str(if index == 0 { ": " } else { " · " });
            text.push_str(part);
        }
        text
    }
}

/// Each kind of failure, the most frequent first. `failed` are the recorded exchanges that failed.
pub(super) fn of(outcomes: &Outcomes, failed: &[Exemplar], tally: &RunTally) -> Vec<FailureKind> {
    let example = |outcome| {
        let first = failed.iter().filter(|e| e.outcome == outcome).min_by_key(|e| e.due)?;
        Some(FailureExample {
            scenario: first.scenario.to_string(),
            endpoint: first.endpoint.to_string(),
            label: tally.labels.of(&first.scenario, &first.endpoint),
            status: first.status,
            detail: first.detail.clone(),
            body: beginning(&first.response_body),
        })
    };
    let kind = |(outcome, count)| FailureKind { outcome, count, example: example(outcome) };
    outcomes.failures().into_iter().map(kind).collect()
}

fn beginning(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.starts_with('<') { String::new() } else { line.chars().take(MAX_BODY).collect() }
}
