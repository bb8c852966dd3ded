//! Several runs side by side as text, Markdown, JSON and HTML, all from the same [`crate::summary::Comparison`].

mod format;
mod html;
mod json;
mod markdown;
mod terminal;

pub use html::html;
pub use json::{SCHEMA, json};
pub use markdown::markdown;
pub use terminal::terminal;
