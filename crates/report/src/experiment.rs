//! Experiments: the verdict, the effect on each metric with its interval and what could have been seen, what limits it, what
//! else moved, and every pair.

mod calibration;
mod costs;
mod document;
mod dots;
mod format;

use evidence::{ExperimentJudgement, PairOrder};
pub(crate) use format::end;
use serde::Serialize;

use crate::document::{Document, Reported};
pub use calibration::{CalibrationSummary, VisibleChanges};

/// The name and version of the schema. A field may be added within a version, never change its meaning.
pub const SCHEMA: &str = "plimsoll.experiment/1";

impl Reported for ExperimentSummary {
    fn document(&self) -> Document {
        document::of(self)
    }

    fn json(&self) -> String {
        crate::json::with_schema(SCHEMA, self)
    }
}

/// An experiment, for the renderers.
#[derive(Debug, Clone, Serialize)]
pub struct ExperimentSummary {
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
