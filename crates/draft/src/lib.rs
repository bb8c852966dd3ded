//! Drafts of plans, to begin with: from a URL, an OpenAPI description, a recording of a browser (HAR) or curl commands.
//!
//! Pure: text goes in, the text of a plan comes out; files that a curl command names are read through
//! [`workload::Files`]. The input is untrusted: reading is bounded, never panics, and an error names the place. No value
//! of a secret header, cookie or field is written: it becomes `${env.NAME}`.
//!
//! [`recognise`] finds out what a text is; [`of_url`], [`of_openapi`], [`of_har`] and [`of_curl`] draft a plan of it.

mod address;
mod body;
mod correlate;
mod curl;
mod draft;
mod error;
mod extract;
mod har;
mod json;
mod multipart;
mod names;
mod openapi;
mod plan;
mod recognise;
mod render;
mod secrets;
mod sent;
mod slots;
#[cfg(test)]
mod tests;
mod text;
mod toml_text;
mod url;
mod yaml;

pub use address::of_url;
pub use curl::{of_curl, of_curl_words};
pub use draft::Draft;
pub use error::DraftError;
pub use har::{of_har, of_har_without};
pub use openapi::{Description, OpenApiOptions, of_openapi};
pub use plan::{Avoided, Choice, Selection};
pub use recognise::{SourceKind, is_curl, recognise};
pub use secrets::Variable;

/// The largest text that is read, in bytes.
pub const MAX_BYTES: usize = 64 << 20;
/// The most steps of a draft.
pub const MAX_STEPS: usize = 1_000;
