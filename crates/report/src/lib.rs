//! Evidence and verdict as text, HTML, Markdown, JSON and JUnit.
//!
//! Pure: a run, its workload and its judgement go in, bytes come out; no clock, no files, no terminal. [`Summary::of`]
//! computes every number once, a [`Document`] says it once, and a writer for each form lays that out, so that two reports of
//! one run cannot disagree. Nothing here judges: verdicts come from the judgement. Start reading at [`summary`], then at
//! [`document`].

pub mod capacity;
mod card;
mod chart_file;
mod charts;
pub mod comparison;
pub mod diagnosis;
pub mod document;
mod drawing;
pub mod experiment;
mod json;
pub mod leaks;
pub mod live;
mod percentiles;
#[cfg(feature = "png")]
mod png;
mod policy;
pub mod profiles;
pub mod quick;
mod run;
mod source;
pub mod summary;
mod test_suite;
mod text;
mod verdict_card;

pub use chart_file::{ChartFile, chart_files};
pub use document::{Detail, Document, Reported, Style};
pub use drawing::Background;
pub use figures::number;
pub use live::{LiveView, WatchView};
pub use percentiles::{Percentiles, PercentilesError};
#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use summary::{ReportError, Summary};
pub use text::wrap;
pub use verdict_card::VerdictCard;
