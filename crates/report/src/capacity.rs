//! Capacity searches: the answer, load against response time, what limits it, and every probe.

mod document;
mod format;

use evidence::capacity::{CapacityJudgement, ProbeStage};
use serde::Serialize;

use crate::document::{Document, Reported};

/// The name and version of the schema. A field may be added within a version, never change its meaning.
const SCHEMA: &str = "plimsoll.capacity/1";

impl Reported for CapacitySummary {
    fn document(&self) -> Document {
        document::of(self)
    }

    fn json(&self) -> String {
        crate::json::with_schema(SCHEMA, self)
    }
}

/// A search, for the renderers.
#[derive(Debug, Clone, Serialize)]
pub struct CapacitySummary {
    pub name: String,
    /// What was loaded.
    pub arm: String,
    /// How long each probe is, in seconds.
    pub step_s: f64,
    /// Requests a second that the generator can sustain on its machine.
    pub proven_per_s: f64,
    /// What the judge says of it.
    pub judgement: CapacityJudgement,
    /// Its runs, in the order in which they were made.
    pub runs: Vec<CapacityRun>,
}

/// The run of a probe.
#[derive(Debug, Clone, Serialize)]
pub struct CapacityRun {
    /// Its number, from 1.
    pub number: u32,
    pub stage: ProbeStage,
    pub level: f64,
    pub file: String,
    /// The digest of its evidence.
    pub digest: String,
}
