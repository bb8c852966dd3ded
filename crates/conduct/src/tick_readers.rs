//! Further readers of a run's ticks, which are made when the run begins.

use engine::{Clock, Control};
use evidence::sink::Sink;

use crate::stop_watch::EndedBy;

/// What a further reader of a run's ticks knows of the run.
pub struct RunHandles {
    /// What dates everything in it.
    pub clock: Clock,
    /// By what it is stopped.
    pub control: Control,
    /// Where a reader that stops it says why.
    pub ended_by: EndedBy,
    /// How many loops offer its load.
    pub loops: u16,
}

/// Makes further readers of a run's ticks, once it is known when the run begins.
pub type MakeReaders = Box<dyn FnOnce(&RunHandles) -> Vec<Box<dyn Sink + Send>>>;
