//! The comparison of two profiles: its types.

use crate::kind::Kind;
use crate::model::ValueType;
use crate::view::View;

/// A profile, and the number of successful requests while it was taken.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// The profile.
    pub view: &'a View<'a>,
    /// Successful requests in exactly the window of the profile.
    pub requests: Option<u64>,
}

/// What values are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Basis {
    Request {
        /// Requests of the baseline.
        base: u64,
        /// Requests of the new profile.
        new: u64,
    },
    /// The total: a share grows when anything else shrinks.
    Share,
    /// Nothing: states are compared as they are.
    Absolute,
}

/// The cost of a function on one side.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Amount {
    /// As counted.
    pub value: i64,
    /// How many samples it is made of, where this is known.
    pub samples: Option<f64>,
    /// By the basis: per request, as a share from 0 to 1, or as counted.
    pub measure: f64,
}

/// The significance of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// More than sampling error.
    Moved,
    /// More than sampling error, with enough samples on one side alone: new, gone, renamed, or inlined elsewhere.
    OneSided,
    /// Within sampling error.
    Noise,
    /// Too few samples to decide.
    TooFew,
    /// Counted completely: the difference has no sampling error.
    Counted,
    /// The profile does not contain how it was sampled.
    Unknown,
}

impl Significance {
    /// Whether it is a difference, and not noise or unknown.
    pub fn is_difference(self) -> bool {
        matches!(self, Significance::Moved | Significance::OneSided | Significance::Counted)
    }
}

/// A cost on both sides.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Change {
    pub base: Amount,
    pub new: Amount,
    /// New less base, by the basis.
    pub difference: f64,
    /// Its 95 % interval by sampling error alone, where that is known.
    pub interval: Option<(f64, f64)>,
    /// How many standard errors it is, pooled over both sides.
    pub standard_errors: Option<f64>,
    pub significance: Significance,
}

/// The change of a caller that most of a function's cost is under.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct CallerChange {
    /// The caller; at least nine tenths of the function's cost are under it, on both sides.
    pub caller: String,
    /// Its cost with all it calls.
    pub change: Change,
    /// Whether the caller as a whole did not change, so that cost only moved within it.
    pub is_shift: bool,
}

/// A function whose own cost differs.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Mover {
    pub name: String,
    /// Its own cost, without what it calls.
    pub change: Change,
    /// Its share of the change of the total; none where the total did not change.
    pub of_total_change: Option<f64>,
    /// The caller to read it under, for functions that moved.
    pub under: Option<CallerChange>,
}

/// One of the two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedSide {
    Base,
    New,
}

/// A limitation that the reader of a comparison must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "caveat")]
pub enum Caveat {
    /// It is based on one profile a side.
    OnePair,
    /// Without requests shares are compared, and the total is not.
    NoRequests,
    /// A side counts from the start of its process and not over a window.
    SinceStart { side: ComparedSide },
    /// A side has no samples, and its profiler may have been off.
    NotMeasured { side: ComparedSide },
    /// A side has stacks with negative values.
    Negative { side: ComparedSide },
    /// The profiler's rate is not in the profile: errors are larger than shown.
    RateUnknown,
    /// The sides were sampled at different rates.
    DifferentRates,
    /// Both sides are the same profile.
    Same,
    /// The total did not change, but functions did: cost was moved, not added.
    TotalUnmoved,
}

/// The comparison of two profiles.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Comparison {
    pub sample_type: ValueType,
    pub kind: Kind,
    /// What values are divided by.
    pub basis: Basis,
    /// The total. It is not compared where values are shares.
    pub total: Change,
    /// How many functions were tested.
    pub tested: usize,
    /// Its limitations.
    pub caveats: Vec<Caveat>,
    /// Functions: those that moved, then the others, both ordered by the size of the difference.
    pub movers: Vec<Mover>,
}
