//! Profiles as people read them: tables and trees as text, flame graphs as SVG, all of it as JSON.

mod comparison;
mod flame;
mod table;
mod top;
mod tree;
pub(crate) mod window;

use ::profile::{CallTree, Comparison, Kind, Row, Sampling, Top, ValueType};
use serde::Serialize;

use crate::number;

pub use comparison::comparison;
pub use flame::{Against, differential_page, flame, flame_page};
pub use top::top;
pub use tree::tree;

/// The name and version of the JSON's schema. A field may be added within a version, never change its meaning.
pub const SCHEMA: &str = "plimsoll.profile/1";

/// What is known of a profile, or of two.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: &'static str,
    /// Functions by cost.
    pub top: &'a Top,
    /// The call tree.
    pub tree: &'a CallTree,
    /// What differs from a baseline, if there is one.
    pub comparison: Option<&'a Comparison>,
}

impl<'a> Document<'a> {
    /// Puts one together.
    pub fn new(top: &'a Top, tree: &'a CallTree, comparison: Option<&'a Comparison>) -> Self {
        Document { schema: SCHEMA, top, tree, comparison }
    }

    /// As indented JSON, without a trailing newline.
    pub fn json(&self) -> String {
        // Texts and finite numbers are all that is in it.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// A value in its unit, as short as it may be: times and sizes scaled, counts as they are.
pub(crate) fn amount(value: f64, counted: &ValueType) -> String {
    const NANOS_PER_MS: f64 = 1e6;
    let nanos = match counted.unit.as_str() {
        "nanoseconds" => value,
        "microseconds" => value * 1e3,
        "milliseconds" => value * NANOS_PER_MS,
        "seconds" => value * 1e9,
        "bytes" => return number::bytes(value),
        "count" | "" => return number::plain(value),
        unit => return format!("{} {unit}", number::plain(value)),
    };
    if nanos == 0.0 || nanos.abs() >= 1_000.0 {
        number::time(nanos / NANOS_PER_MS)
    } else {
        format!("{} ns", number::significant(nanos, 3))
    }
}

/// A part of a whole in per cent, with its sign.
pub(crate) fn percent(part: f64, whole: f64) -> String {
    if whole == 0.0 {
        return number::NOT_MEASURED.to_owned();
    }
    let share = part / whole * 100.0;
    match share.abs() {
        size if size != 0.0 && size < 0.01 => "<0.01 %".to_owned(),
        size if size < 10.0 => format!("{share:.2} %"),
        _ => format!("{share:.1} %"),
    }
}

/// What is measured, in words: `cpu in nanoseconds`.
pub(crate) fn counted(counted: &ValueType) -> String {
    format!(
        "{} in {}",
        crate::terminal::line::visible(&counted.name),
        crate::terminal::line::visible(&counted.unit)
    )
}

/// What is beside a function with too few samples to say anything of it (rule Q8).
pub(crate) const TOO_FEW: &str = "too few samples";

/// Whether a function was seen too rarely to say what it cost itself. One that was not sampled itself costs nothing itself.
pub(crate) fn is_too_few(kind: Kind, row: &Row) -> bool {
    row.flat != 0 && row.samples.is_some_and(|samples| samples < kind.least_samples())
}

/// What an empty profile means, and what to do; nothing where there are samples.
pub(crate) fn emptiness(kind: Kind, sampling: Sampling) -> Option<&'static str> {
    match (sampling, kind) {
        (Sampling::Seen, _) => None,
        (Sampling::NoneSeen, Kind::Cpu) => {
            Some("There are no samples: the process used no processor time while the profile was taken.")
        }
        (Sampling::NoneSeen, _) => Some("There are no samples."),
        (Sampling::Off, _) => Some(
            "Sampling was off when this was written (its rate is 0): what it shows is older, and nothing follows from \
             what it lacks.",
        ),
        (Sampling::OffOrUnknown, Kind::Contention) => Some(
            "There are no samples: sampling was off or its rate is unknown. This does not say that nothing waited. In Go, \
             runtime.SetMutexProfileFraction and runtime.SetBlockProfileRate turn it on.",
        ),
        (Sampling::OffOrUnknown, _) => Some(
            "There are no samples: sampling was off or its rate is unknown. This does not say that nothing was allocated.",
        ),
    }
}
