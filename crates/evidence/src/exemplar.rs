//! One exchange kept completely: "6 % failed" is of little use without one response to look at.

use serde::{Deserialize, Serialize};

use crate::key::Name;
use crate::outcome::Outcome;
use crate::time::Instant;

/// How many exemplars of failures are kept for each endpoint and outcome.
pub const EXEMPLARS_PER_OUTCOME: usize = 5;
/// How many bytes of a body an exemplar keeps.
pub const EXEMPLAR_BODY_BYTES: usize = 2048;

/// Why an exchange was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExemplarKind {
    /// It failed; the first of its endpoint, phase and outcome in its second.
    Failed,
    /// The slowest of its endpoint and phase so far; a later one replaces an earlier.
    Slowest,
}

/// One exchange, redacted before it is made: no secret reaches this type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exemplar {
    /// Why it was kept.
    pub kind: ExemplarKind,
    /// The scenario's name.
    pub scenario: Name,
    /// The step's name.
    pub endpoint: Name,
    /// The phase it was due in.
    pub phase: Name,
    /// How it ended.
    pub outcome: Outcome,
    /// When it was due.
    pub due: Instant,
    /// Due instant to the end, in nanoseconds.
    pub response_time_ns: u64,
    /// First byte sent to the end, in nanoseconds; 0 when nothing was sent.
    pub service_time_ns: u64,
    /// Method and URL, or gRPC target and method.
    pub request: String,
    /// Request headers, redacted.
    pub request_headers: Vec<(String, String)>,
    /// The first bytes of the request's body; gRPC messages as JSON.
    pub request_body: String,
    /// HTTP status, where a response began.
    pub status: Option<u16>,
    /// Response headers and trailers, redacted.
    pub response_headers: Vec<(String, String)>,
    /// The first bytes of the response's body, as text where it is text.
    pub response_body: String,
    /// What was wrong, in words: the failed check with what was found, or the transport's error.
    pub detail: String,
    /// The trace id that was sent, if any.
    pub trace_id: Option<String>,
}
