//! Several runs side by side, from a [`crate::summary::Comparison`].

mod document;
mod format;
mod measures;
mod overview;

use crate::document::{Document, Reported};
use crate::summary::Comparison;

/// The name and version of the schema. A field may be added within a version, never change its meaning.
pub const SCHEMA: &str = "plimsoll.comparison/1";

impl Reported for Comparison {
    fn document(&self) -> Document {
        document::of(self)
    }

    fn json(&self) -> String {
        crate::json::with_schema(SCHEMA, self)
    }
}
