//! JSON responses, built from texts that are prepared once.
//!
//! Most of a challenge list is the same for every user: [`ListTemplate`] keeps it as one text with a gap for each goal.
//! A response consists of slices of that text, which are not copied, and of the user's own fields.

mod body;
mod goal;
mod initialize;
mod list;

use serde::Serialize;

pub use body::Chunks;
pub use initialize::InitializeTemplate;
pub use list::ListTemplate;

/// A JSON text: quoted and escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Only for texts, numbers and flags, which always serialise.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests;
