//! An experiment as JSON for programs, with a versioned schema: `docs/experiments.md`.

use serde::Serialize;

use super::ExperimentSummary;

/// The name and version of the schema. A field may be added within a version, never change its meaning.
pub const SCHEMA: &str = "plimsoll.experiment/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    experiment: &'a ExperimentSummary,
}

/// The experiment as indented JSON, without a trailing newline.
pub fn json(experiment: &ExperimentSummary) -> String {
    crate::json::pretty(&Document { schema: SCHEMA, experiment })
}
