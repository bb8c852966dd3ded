//! Several runs side by side as text, Markdown, JSON and HTML: each lays the same [`crate::summary::Comparison`] out.

mod html;
mod json;
mod markdown;
mod terminal;
mod words;

pub use html::html;
pub use json::{SCHEMA, json};
pub use markdown::markdown;
pub use terminal::terminal;
