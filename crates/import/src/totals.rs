//! A total that a source states, and how it differs from another number of the same requests.

use evidence::manifest::RequestSummary;

/// A total that a source states of requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedTotal {
    /// What states it, as a reader finds it in the file: `statusCodeDistribution`.
    pub what: String,
    /// Their scenario; empty for requests of all scenarios.
    pub scenario: String,
    /// Their endpoint; empty for requests of all endpoints.
    pub endpoint: String,
    /// How many requests there were.
    pub requests: Option<u64>,
    /// How many of them failed.
    pub failed: Option<u64>,
    /// Whether there may be more: it is of an earlier time, or of some of the requests.
    pub is_lower_limit: bool,
}

impl StatedTotal {
    pub(crate) fn from_summary(summary: &RequestSummary) -> StatedTotal {
        StatedTotal {
            what: "The source's own total".to_owned(),
            scenario: summary.scenario.clone(),
            endpoint: summary.endpoint.clone(),
            requests: summary.requests,
            failed: summary.failed,
            is_lower_limit: false,
        }
    }

    /// How many requests more there are than `requests`, of which `failed` failed, by this total, and how many of these are
    /// contradicted.
    pub(crate) fn differs_from(&self, requests: u64, failed: Option<u64>) -> (u64, u64) {
        let fewer = |less: u64, more: u64| if self.is_lower_limit { 0 } else { more.saturating_sub(less) };
        let stated = self.requests.unwrap_or(requests);
        let more = stated.saturating_sub(requests);
        let of_failed = match (self.failed, failed) {
            (Some(stated), Some(failed)) => stated.saturating_sub(failed + more).max(fewer(stated, failed)),
            _ => 0,
        };
        (more, fewer(stated, requests).max(of_failed))
    }

    /// `36,000 requests, 40 of them failed`.
    pub(crate) fn words(&self) -> String {
        match (self.requests, self.failed) {
            (Some(requests), None) => format!("{} requests", count(requests)),
            (None, Some(failed)) => format!("{} failed requests", count(failed)),
            (requests, failed) => format!(
                "{} requests, {} of them failed",
                count(requests.unwrap_or(0)),
                count(failed.unwrap_or(0))
            ),
        }
    }
}

/// A count with separators of thousands.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}
