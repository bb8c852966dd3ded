//! Further readers of a run's ticks, which are made when the run begins.

use engine::{Clock, Control};
use evidence::sink::Sink;

use crate::stop_watch::EndedBy;

/// What a further reader of a run's ticks knows of the run.
pub(crate) struct RunHandles {
    pub(crate) clock: Clock,
    pub(crate) control: Control,
    pub(crate) ended_by: EndedBy,
    pub(crate) loops: u16,
}

/// Makes further readers of a run's ticks, once it is known when the run begins.
pub(crate) type MakeReaders = Box<dyn FnOnce(&RunHandles) -> Vec<Box<dyn Sink + Send>>>;
