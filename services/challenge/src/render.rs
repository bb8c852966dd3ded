//! JSON answers, written around texts that are prepared once.
//!
//! Of a challenge list nearly all is the same for everyone: [`ListTemplate`] keeps it as one text with a gap for each
//! goal, and an answer is made of slices of that text and of what is the user's own, without copying the former.

mod body;
mod goal;
mod initialize;
mod list;

pub use body::Chunks;
pub use initialize::InitializeTemplate;
pub use list::ListTemplate;

use serde::Serialize;

/// A JSON text: quoted and escaped.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Texts, numbers and flags, which always serialise.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

#[cfg(test)]
pub(crate) mod tests;
