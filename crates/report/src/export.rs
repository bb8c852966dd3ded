//! A run in the formats of other tools: tables, OpenMetrics, HdrHistogram's interval logs.
//!
//! Everything is taken from the evidence as it was recorded; nothing is judged, and no number is rounded but to what its
//! format can hold.

mod csv;
mod hdr;
mod openmetrics;

use evidence::run::ReadError;

pub use csv::{CSV_FILES, csv};
pub use hdr::hdr;
pub use openmetrics::{TIME_BOUNDS_S, TimesSoFar, openmetrics};

/// When a run started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunStart {
    /// In milliseconds since 1970, UTC.
    pub unix_ms: i64,
}

impl RunStart {
    /// So many milliseconds after the start, in seconds since 1970: `1763892001.250`.
    fn after_ms(self, ms: u64) -> String {
        let at = self.unix_ms.saturating_add_unsigned(ms);
        format!("{}.{:03}", at.div_euclid(1_000), at.rem_euclid(1_000))
    }

    /// The end of a second of the run.
    fn end_of(self, second: u32) -> String {
        self.after_ms((u64::from(second) + 1) * 1_000)
    }
}

/// A run that could not be exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The evidence cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A table or a histogram could not be put together.
    #[error("cannot write a table: {0}")]
    Table(String),
}
