//! Profiles as tables and trees of text, flame graphs as SVG, and JSON.

pub(crate) mod captured;
mod comparison;
pub(crate) mod flame;
mod table;
mod top;
mod tree;

use ::profile::{CallTree, Comparison, Kind, Row, Sampling, Top, ValueType};
use serde::Serialize;

use crate::number;
use crate::text::visible;

pub use comparison::comparison;
pub use flame::{FlameBaseline, differential_page, flame, flame_page};
pub use top::top;
pub use tree::tree;

/// The name and version of the JSON's schema. A field may be added within a version, never change its meaning.
pub const SCHEMA: &str = "plimsoll.profile/1";

/// The JSON document of a profile, or of two.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    /// Functions by cost.
    pub top: &'a Top,
    pub tree: &'a CallTree,
    /// The comparison with a baseline, if there is one.
    pub comparison: Option<&'a Comparison>,
}

impl<'a> Document<'a> {
    /// A document of these parts.
    pub fn new(top: &'a Top, tree: &'a CallTree, comparison: Option<&'a Comparison>) -> Self {
        Document { schema: SCHEMA, top, tree, comparison }
    }

    /// As indented JSON, without a trailing newline.
    pub fn json(&self) -> String {
        crate::json::pretty(self)
    }
}

/// A value in its unit.
pub(crate) fn amount(value: f64, of: &ValueType) -> String {
    number::with_unit(Some(value), &of.unit)
}

/// A sample type and its unit: `cpu in nanoseconds`.
pub(crate) fn type_and_unit(of: &ValueType) -> String {
    format!("{} in {}", visible(&of.name), visible(&of.unit))
}

/// An amount of a sample type: `10.0 s of cpu`, `18 goroutine`.
pub(crate) fn amount_of_type(value: f64, of: &ValueType) -> String {
    let between = if of.unit == "count" { " " } else { " of " };
    format!("{}{between}{}", amount(value, of), visible(&of.name))
}

/// Marks a function with too few samples for its cost to be significant (rule Q8).
pub(crate) const TOO_FEW: &str = "too few samples";

/// Whether a function has too few samples of its own for its flat cost to be significant. A flat cost of 0 always is.
pub(crate) fn has_too_few_samples(kind: Kind, row: &Row) -> bool {
    row.flat != 0 && row.samples.is_some_and(|samples| samples < kind.least_samples())
}

/// What a profile without samples shows, and what to do; none where there are samples.
pub(crate) fn empty_note(kind: Kind, sampling: Sampling) -> Option<&'static str> {
    match (sampling, kind) {
        (Sampling::Seen, _) => None,
        (Sampling::NoneSeen, Kind::Cpu) => {
            Some("There are no samples: the process used no processor time while the profile was taken.")
        }
        (Sampling::NoneSeen, _) => Some("There are no samples."),
        (Sampling::Off, _) => Some(
            "Sampling was off when this was written (its rate is 0): its samples are older, and a missing function may \
             still have been called.",
        ),
        (Sampling::OffOrUnknown, Kind::Contention) => Some(
            "There are no samples: sampling was off or its rate is unknown. This does not show that nothing waited. In Go, \
             runtime.SetMutexProfileFraction and runtime.SetBlockProfileRate turn it on.",
        ),
        (Sampling::OffOrUnknown, _) => Some(
            "There are no samples: sampling was off or its rate is unknown. This does not show that nothing was allocated.",
        ),
    }
}
