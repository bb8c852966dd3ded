//! A comparison as JSON for programs, with a versioned schema: `docs/compare.md`.

use serde::Serialize;

use crate::summary::Comparison;

/// The name and version of the schema. A field may be added within a version, never change its meaning.
pub const SCHEMA: &str = "plimsoll.comparison/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// The comparison as indented JSON, without a trailing newline.
pub fn json(comparison: &Comparison) -> String {
    let document = Document { schema: SCHEMA, comparison };
    crate::json::pretty(&document)
}
