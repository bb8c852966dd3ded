//! From a body to samples: parses the body, and validates each sample. Pure.

mod json;
mod members;
mod protobuf;

use crate::sample::{Invalid, Sample};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyFormat {
    /// `application/json`: an object, or an array of them.
    Json,
    /// `application/x-protobuf`: a `telemetry.TelemetryBatch`.
    Protobuf,
}

/// Bounds on bodies and values.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Samples in one body.
    pub batch: usize,
    /// The largest absolute value of a sample.
    pub value: f64,
}

/// Why a body cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("Empty request body")]
    Empty,
    /// It is not in its format, or nested too deeply.
    #[error("the body cannot be read: {0}")]
    Malformed(String),
    /// More samples than one body may have.
    #[error("the body has more than {0} samples")]
    TooMany(usize),
}

/// Each sample in the order sent, or why it is refused.
pub type ParsedSamples<'a> = Vec<Result<Sample<'a>, Invalid>>;

/// Reads a body.
///
/// # Errors
/// When the body as a whole cannot be read.
pub fn read(format: BodyFormat, body: &[u8], limits: Limits) -> Result<ParsedSamples<'_>, BodyError> {
    match format {
        _ if body.is_empty() => Err(BodyError::Empty),
        BodyFormat::Json => json::read(body, limits),
        BodyFormat::Protobuf => protobuf::read(body, limits),
    }
}

#[cfg(test)]
mod tests;
