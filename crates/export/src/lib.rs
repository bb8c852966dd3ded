//! Evidence in the formats of other systems: a run as tables, OpenMetrics and HdrHistogram's interval logs; the series of a run that
//! goes on as messages of OTLP and Prometheus remote write.
//!
//! Everything is taken from the evidence as it was recorded; nothing is judged, and no number is rounded but to what its
//! format can hold.

mod csv;
mod hdr;
#[cfg(feature = "live")]
pub mod live;
mod openmetrics;

use evidence::run::ReadError;

pub use csv::{CSV_FILES, csv};
pub use hdr::hdr;
pub use openmetrics::openmetrics;

/// A protocol for the metrics of a run that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Prometheus remote write, version 1.0.
    RemoteWrite,
    /// OTLP over HTTP, in protobuf.
    Otlp,
}

impl Protocol {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::RemoteWrite => "prometheus-remote-write",
            Protocol::Otlp => "otlp",
        }
    }
}

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
