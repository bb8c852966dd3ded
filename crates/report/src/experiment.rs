//! An experiment as text, HTML, Markdown, JSON and JUnit: the verdict, the effect on each metric with its interval and what
//! could have been seen, what limits it, what else moved, and every pair.

mod calibration;
mod costs;
mod dots;
mod format;
mod html;
mod json;
mod junit;
mod markdown;
mod terminal;

use evidence::{ExperimentJudgement, PairOrder};
pub(crate) use format::end;
use serde::Serialize;

pub use calibration::{CalibrationSummary, VisibleChanges, calibration};
pub use html::html;
pub use json::{SCHEMA, json};
pub use junit::junit;
pub use markdown::markdown;
pub use terminal::terminal;

/// An experiment, for the renderers.
#[derive(Debug, Clone, Serialize)]
pub struct ExperimentSummary {
    /// Its name.
    pub name: String,
    /// What A and B are.
    pub arms: [String; 2],
    /// What the judge says of it.
    pub judgement: ExperimentJudgement,
    /// Its pairs, in the order in which they were made.
    pub runs: Vec<PairOfRuns>,
}

/// The two runs of a pair.
#[derive(Debug, Clone, Serialize)]
pub struct PairOfRuns {
    /// Its number, from 1.
    pub number: u32,
    /// Which arm ran first.
    pub order: PairOrder,
    /// The run files of A and of B.
    pub files: [String; 2],
    /// The digests of their evidence.
    pub digests: [String; 2],
}
