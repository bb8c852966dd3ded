//! The series of a run that goes on, as the messages of other systems.

mod otlp;
mod remote_write;
mod totals;

pub use totals::{Batch, Totals};

use crate::Protocol;

/// A batch that could not be encoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot compress the message: {0}")]
pub struct EncodeError(#[from] snap::Error);

impl Protocol {
    /// The headers of each request: name, value.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Protocol::RemoteWrite => &remote_write::HEADERS,
            Protocol::Otlp => &otlp::HEADERS,
        }
    }

    /// The body of the request that delivers a batch.
    ///
    /// # Errors
    /// [`EncodeError`] when it cannot be compressed.
    pub fn body(self, batch: &Batch) -> Result<Vec<u8>, EncodeError> {
        match self {
            Protocol::RemoteWrite => remote_write::body(batch),
            Protocol::Otlp => Ok(otlp::body(batch)),
        }
    }
}
