//! ghz: its JSON, with every call, and the summary that it prints.

pub(crate) mod json;
pub(crate) mod text;

use evidence::SourceFigure;

/// A figure over all calls.
fn figure(name: &str, value: f64, unit: &str) -> SourceFigure {
    SourceFigure { of: "all calls".to_owned(), name: name.to_owned(), value, unit: unit.to_owned() }
}
