//! The share of arrivals that decides a claim: `p95 < 50 ms` asks whether at most 5 % take 50 ms or longer.

use serde::{Deserialize, Serialize};

/// The share of arrivals on the wrong side of a claim's bound, as far as it is known. Shares are from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimShare {
    /// All of this in one line.
    pub sentence: String,
    /// The share by the observed times alone.
    pub observed: f64,
    /// At least this share, at `confidence`.
    pub lower: f64,
    /// At most this share, at `confidence`.
    pub upper: f64,
    /// The share that the claim allows.
    pub allowed: f64,
    /// Of each limit, one-sided.
    pub confidence: f64,
    /// The arrivals that the claim counts.
    pub arrivals: u64,
    /// Those on the wrong side whatever is unknown of their times.
    pub least: u64,
    /// Those that may be.
    pub most: u64,
    /// How many independent observations the arrivals amount to.
    pub effective_sample: f64,
    /// Arrivals per independent observation.
    pub design_effect: f64,
    /// Arrivals that were under way while the generator stalled, on whichever side they are.
    pub perturbed: u64,
    /// Why `least` and `most` differ.
    pub widened_by: Vec<Widening>,
    /// What the claim does not exclude although it passes; none of other claims, and where none may be beyond the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blind_spot: Option<BlindSpot>,
}

/// Outages that a run is likely to have missed, and that would violate its claim: longer than `longer_than_s`, and less
/// frequent than one in `rarer_than_s`.
///
/// With one outage in T/3 of a run of length T, the run contains none with a probability of 5 % (e⁻³); each is longer than what
/// the claim allows if it lasts longer than the allowed share of T/3.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlindSpot {
    /// In seconds.
    pub longer_than_s: f64,
    /// In seconds.
    pub rarer_than_s: f64,
}

impl BlindSpot {
    /// Of a claim that allows this share, 0 to 1, by a run of so many seconds.
    pub fn new(allowed: f64, run_s: f64) -> BlindSpot {
        let rarer_than_s = run_s / 3.0;
        BlindSpot { longer_than_s: allowed * rarer_than_s, rarer_than_s }
    }

    /// What neither of them excludes.
    pub fn and(self, other: BlindSpot) -> BlindSpot {
        BlindSpot {
            longer_than_s: self.longer_than_s.max(other.longer_than_s),
            rarer_than_s: self.rarer_than_s.max(other.rarer_than_s),
        }
    }
}

/// Arrivals of which it is not known on which side of a bound they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Widening {
    /// Why it is not known.
    pub cause: WideningCause,
    /// How many there are.
    pub arrivals: u64,
}

/// Why it is not known on which side of a bound an arrival is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WideningCause {
    /// It was under way while the generator stalled, which may have delayed it, or made it fail.
    Perturbed,
    /// The generator was too late to start it.
    DroppedLate,
    /// It was dropped at the limit on virtual users.
    DroppedCap,
    /// It was dropped, and the source of an imported run does not say why.
    Dropped,
    /// It was cancelled, could not be sent in time, or was in flight at the end of the run.
    Cut,
    /// Its time was counted in the bucket that contains the bound.
    AtBound,
    /// It failed, and a script's metric counts its time as any other.
    FailedInMetric,
    /// The record of an imported source is missing, could not be read, or is contradicted by another.
    Unread,
}

impl WideningCause {
    /// What such arrivals are, in words.
    pub fn words(self) -> &'static str {
        match self {
            WideningCause::Perturbed => "affected by stalls of the generator",
            WideningCause::DroppedLate => "dropped: generator late",
            WideningCause::DroppedCap => "dropped: VU limit",
            WideningCause::Dropped => "dropped for a reason that is not recorded",
            WideningCause::Cut => "cancelled or unfinished",
            WideningCause::FailedInMetric => "values of failed requests",
            WideningCause::AtBound => "within 0.1 % of the bound",
            WideningCause::Unread => "missing in the import, not readable or contradicted",
        }
    }
}
