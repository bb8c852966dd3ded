//! The completions a second that decide a claim.

use serde::{Deserialize, Serialize};

/// The completions a second that decide a claim on throughput or goodput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ClaimRate {
    /// The rate is at least this, per second; none where no phase has enough whole seconds to say.
    pub lower: Option<f64>,
    /// The rate is at most this, per second, `may_be_more` included.
    pub upper: Option<f64>,
    /// The confidence of each limit, one-sided.
    pub confidence: f64,
    /// How many more a second may have ended under a generator that never was late.
    pub may_be_more: f64,
    /// Whether a second in which a phase begins or ends counts in proportion, because the run file does not say in which phase
    /// requests ended.
    pub is_proportional: bool,
}
