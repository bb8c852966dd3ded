//! Results of other load generators, read as evidence: k6, JMeter, Gatling, Locust, ghz, vegeta, oha, hey, fortio,
//! HdrHistogram logs.
//!
//! A reader turns its format into [`Event`]s, one after the other, with memory that does not grow with the input.
//! Each file is read twice. [`Survey`] finds its time range, its figures and what is malformed, for the manifest;
//! [`Filler`] hands the same events to a [`evidence::Sink`] as ticks. Nothing is invented: what a source did not record
//! is listed as [`evidence::manifest::Missing`]. Pure: the caller opens the input, any [`std::io::BufRead`]. Start
//! reading at [`read`].

mod contradictions;
mod csv;
mod event;
mod figure;
mod fill;
mod format;
mod fortio;
mod gatling;
mod ghz;
mod gob;
mod hlog;
mod jmeter;
mod k6;
mod limits;
mod lines;
mod locust;
mod oha;
mod parse;
mod planned;
mod recognise;
mod records;
mod relative;
mod requests_read;
mod span;
mod survey;
mod totals;
mod vegeta;

use std::io::{self, BufRead};

use evidence::SinkError;

pub use contradictions::contradictions;
pub use event::{EndpointRef, Event, Receive};
pub use fill::Filler;
pub use format::Format;
pub use limits::run_limit;
pub use lines::{Reading, UnreadRecord};
pub use planned::{PHASE, PlannedRun};
pub use recognise::{HEAD_BYTES, recognise};
pub use records::RecordSample;
pub use span::RunSpan;
pub use survey::Survey;
pub use totals::StatedTotal;

/// Why a file could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// It could not be read.
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    /// What was read could not be stored.
    #[error(transparent)]
    Keep(#[from] SinkError),
    /// It has an unknown format, or one that is refused; the sentence includes what to do.
    #[error("{0}")]
    Refused(String),
}

/// Read `input`, which is in `format`, and pass its events to `receiver`. Malformed lines are counted in the result. A
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
        Format::VegetaBinary => vegeta::binary(input, receiver),
        Format::VegetaCsv => vegeta::csv(input, receiver),
        Format::HeyCsv => relative::hey(input, receiver),
        Format::OhaCsv => relative::oha(input, receiver),
        Format::FortioJson => fortio::read(input, receiver),
        Format::VegetaReport => vegeta::report(input, receiver),
        Format::JmeterCsv => jmeter::csv::read(input, receiver),
        Format::JmeterXml => jmeter::xml::read(input, receiver),
        Format::GatlingLog => gatling::read(input, receiver),
        Format::LocustStats => locust::stats(input, receiver),
        Format::LocustHistory => locust::history(input, receiver),
        Format::LocustFailures => locust::failures(input, receiver),
        Format::OhaJson => oha::read(input, receiver),
        Format::HdrLog => hlog::read(input, receiver),
    }
}
