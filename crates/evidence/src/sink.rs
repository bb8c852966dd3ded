//! Who receives a run's evidence while it happens: the archive, the live display, stop rules.
//!
//! All of them read the same ticks; there is no second path for "live".

use crate::manifest::RunEnd;
use crate::observed::Observed;
use crate::tick::Tick;

/// Evidence that could not be kept. A failure to record always fails the run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SinkError(pub String);

/// Receives evidence in the order in which it became known.
pub trait Sink {
    /// One second of one loop. Later ticks may add to counts of earlier seconds.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be kept.
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError>;

    /// What observers saw.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be kept.
    fn observed(&mut self, observed: &Observed) -> Result<(), SinkError>;

    /// Everything given so far belongs together: make it durable. Called about once a second.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be kept.
    fn flush(&mut self) -> Result<(), SinkError>;

    /// Nothing more will come.
    ///
    /// # Errors
    /// [`SinkError`] when it could not be kept.
    fn end(&mut self, end: &RunEnd) -> Result<(), SinkError>;
}
