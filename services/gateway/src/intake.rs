//! From a body to samples: what can be read, and for each sample what is wrong with it. Pure.

mod json;
mod members;
mod protobuf;

use crate::sample::{Invalid, Sample};

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `application/json`: an object, or an array of them.
    Json,
    /// `application/x-protobuf`: a `telemetry.TelemetryBatch`.
    Protobuf,
}

/// What is taken.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Samples in one body.
    pub batch: usize,
    /// How far a value may be from zero.
    pub value: f64,
}

/// Why nothing of a body was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// There is none.
    #[error("Empty request body")]
    Empty,
    /// It is not what it claims to be, or nested too deeply.
    #[error("the body cannot be read: {0}")]
    Malformed(String),
    /// More samples than one body may have.
    #[error("the body has more than {0} samples")]
    TooMany(usize),
}

/// Each sample in the order told, or why it is refused.
pub type Read<'a> = Vec<Result<Sample<'a>, Invalid>>;

/// Reads a body.
///
/// # Errors
/// When it holds nothing that could be told apart into samples.
pub fn read(form: Form, body: &[u8], limits: Limits) -> Result<Read<'_>, Unreadable> {
    match form {
        _ if body.is_empty() => Err(Unreadable::Empty),
        Form::Json => json::read(body, limits),
        Form::Protobuf => protobuf::read(body, limits),
    }
}

#[cfg(test)]
mod tests;
