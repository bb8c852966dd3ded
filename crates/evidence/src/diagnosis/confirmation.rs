//! What the judge says of the experiment that raises the limit which a diagnosis names.

use serde::{Deserialize, Serialize};

/// The target of an experiment that confirms a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationArm {
    /// As it is started.
    Unchanged,
    /// With more of what is named as the limit.
    Raised,
}

/// Whether more of the named limit moves the break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfirmationAnswer {
    /// By as much as predicted.
    Confirmed,
    /// It does not move, or by less.
    NotConfirmed,
    /// The experiment does not show it.
    Inconclusive,
}

/// What the experiment shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The answer.
    pub answer: ConfirmationAnswer,
    /// Why that is the answer.
    pub because: String,
    /// The resource that was raised.
    pub resource: String,
    /// By what: `POOL=8`.
    pub change: String,
    /// How much of it there is unchanged, and raised as far as that was observed.
    pub sizes: (f64, Option<f64>),
    /// How many times the load the raised arm should carry; none where its size was not observed.
    pub predicted: Option<f64>,
    /// The limits of how many times the load it carries, as far as the probes show them.
    pub moved: (Option<f64>, Option<f64>),
    /// The unit of levels, as in `arrivals/s`.
    pub unit: String,
    /// Unchanged.
    pub unchanged: ArmBreak,
    /// Raised.
    pub raised: ArmBreak,
}

/// Between which levels an arm breaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmBreak {
    /// The highest level at which every probe met the objectives, there and at all lower levels.
    pub holds: Option<f64>,
    /// The lowest level at which none did, there and at all higher levels.
    pub breaks: Option<f64>,
    /// How many probes count.
    pub probes: usize,
}
