//! Responses by endpoint and outcome, as each program has them.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// Responses by endpoint and outcome.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts(BTreeMap<(String, String), u64>);

impl Counts {
    /// Adds to an endpoint's outcome.
    pub(super) fn add(&mut self, endpoint: &str, outcome: &str, count: u64) {
        if count > 0 {
            *self.0.entry((endpoint.to_owned(), outcome.to_owned())).or_default() += count;
        }
    }

    /// Those of a JSON report.
    ///
    /// # Errors
    /// When it has none.
    pub(super) fn of_report(report: &Value) -> Result<Self> {
        let mut counts = Self::default();
        let rows = report["endpoints"].as_array().context("the report has no endpoints")?;
        for row in rows {
            let endpoint = row["endpoint"].as_str().unwrap_or_default();
            for (outcome, count) in row["by_outcome"].as_object().into_iter().flatten() {
                counts.add(endpoint, outcome, count.as_u64().unwrap_or(0));
            }
        }
        ensure!(counts.0.len() > 1, "the run has {counts}, and needs successes and failures");
        Ok(counts)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: Vec<String> = self
            .0
            .iter()
            .map(|((endpoint, outcome), count)| format!("{endpoint} {outcome} {count}"))
            .collect();
        write!(f, "{}", if text.is_empty() { "nothing".to_owned() } else { text.join(", ") })
    }
}
