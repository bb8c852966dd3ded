//! A capacity search as JSON for programs, with a versioned schema: `docs/capacity.md`.

use serde::Serialize;

use super::CapacitySummary;

/// The name and version of the schema. A field may be added within a version, never change its meaning.
const SCHEMA: &str = "plimsoll.capacity/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    search: &'a CapacitySummary,
}

/// The search as indented JSON, without a trailing newline.
pub fn json(search: &CapacitySummary) -> String {
    crate::json::pretty(&Document { schema: SCHEMA, search })
}
