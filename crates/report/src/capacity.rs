//! Capacity searches as text for a terminal, HTML with the plot of load against response time, Markdown, JUnit and JSON.

mod format;
mod html;
mod json;
mod junit;
mod markdown;
mod terminal;

use evidence::capacity::{CapacityJudgement, ProbeStage};
use serde::Serialize;

pub use html::html;
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use terminal::terminal;

/// A search, for the renderers.
#[derive(Debug, Clone, Serialize)]
pub struct CapacitySummary {
    /// Its name.
    pub name: String,
    /// What was loaded.
    pub arm: String,
    /// How long each probe is, in seconds.
    pub step_s: f64,
    /// Requests a second that the generator is proven for on its machine.
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
    /// What it was for.
    pub stage: ProbeStage,
    /// Its level.
    pub level: f64,
    /// Its run file.
    pub file: String,
    /// The digest of its evidence.
    pub digest: String,
}
