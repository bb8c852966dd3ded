//! What other load generators wrote, read as evidence: k6, ghz, vegeta, HdrHistogram logs.
//!
//! A reader turns its format into [`Event`]s, one after the other, with memory that does not grow with the input.
//! Files are read twice: [`Survey`] learns when the run began, which figures there are and what is wrong with the
//! file, so that the manifest can say it; [`Filler`] hands the same events to a [`evidence::Sink`] as ticks. Nothing is
//! made up: what a source did not keep is named in [`evidence::manifest::Missing`]. Pure: the input is whatever
//! [`std::io::BufRead`] the caller opens. Start reading at [`read`].

mod event;
mod fill;
mod format;
mod ghz;
mod hlog;
mod k6;
mod lines;
mod survey;
mod vegeta;

use std::io::{self, BufRead};

use evidence::SinkError;

pub use event::{Event, Place, Receive};
pub use fill::{Filler, PHASE};
pub use format::{Format, HEAD_BYTES, recognise};
pub use lines::Reading;
pub use survey::Survey;

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// What was read could not be kept.
    #[error(transparent)]
    Keep(#[from] SinkError),
    /// It is none of the formats known, or one that is refused; the sentence says what to do.
    #[error("{0}")]
    Refused(String),
}

/// Read `input`, which is in `format`, and hand on what it says. Malformed lines are counted in what is returned, and a
/// file that ends in the middle of a line is read up to there.
///
/// # Errors
/// [`ImportError`] when the input cannot be read, is not in that format at all, or the receiver fails.
pub fn read(
    format: Format,
    input: &mut dyn BufRead,
    receiver: &mut dyn Receive,
) -> Result<Reading, ImportError> {
    match format {
        Format::K6Ndjson => k6::ndjson::read(input, receiver),
        Format::K6Csv => k6::csv::read(input, receiver),
        Format::K6Summary => k6::summary::read(input, receiver),
        Format::GhzJson => ghz::json::read(input, receiver),
        Format::GhzText => ghz::text::read(input, receiver),
        Format::VegetaResults => vegeta::results(input, receiver),
        Format::VegetaReport => vegeta::report(input, receiver),
        Format::HdrLog => hlog::read(input, receiver),
    }
}
