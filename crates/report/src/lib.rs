//! Evidence and verdict as text, HTML, Markdown, JSON and JUnit.
//!
//! Pure: a run, its workload and its judgement go in, bytes come out; no clock, no files, no terminal. [`Summary::of`]
//! computes every number once and the renderers only lay it out, so that two reports of one run cannot disagree.
//! Nothing here judges: verdicts come from the judgement. Start reading at [`summary`].

pub mod capacity;
mod card;
pub mod comparison;
pub mod document;
pub mod experiment;
pub mod html;
pub mod json;
pub mod junit;
pub mod leaks;
pub mod live;
pub mod markdown;
mod policy;
pub mod profiles;
pub mod quick;
mod source;
pub mod summary;
pub mod terminal;
mod test_suite;
mod text;

pub use document::{Document, Reported};
pub use figures::number;
pub use html::html;
pub use json::json;
pub use junit::junit;
pub use live::{LiveView, WatchView};
pub use markdown::markdown;
pub use summary::{ReportError, Summary};
pub use terminal::{Detail, Style, terminal};
