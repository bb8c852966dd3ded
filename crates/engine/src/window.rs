//! In which window of run time a loop is: what begins and ends is counted there too, whenever it was due.

use evidence::Instant;

use crate::index::PhaseIndex;
use crate::program::Program;

/// A window of run time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadWindow {
    Phase(PhaseIndex),
    /// After the last phase, or after the load was stopped.
    After,
}

/// The window that a loop is in, and when it leaves it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CurrentWindow {
    pub(crate) window: LoadWindow,
    pub(crate) ends: Instant,
}

impl CurrentWindow {
    /// That of a phase that never ends: of a loop that offers no load.
    pub(crate) fn lasting(phase: PhaseIndex) -> CurrentWindow {
        CurrentWindow { window: LoadWindow::Phase(phase), ends: Instant::NEVER }
    }

    /// The first window of the load.
    pub(crate) fn first(program: &Program) -> CurrentWindow {
        CurrentWindow::new(PhaseIndex(0), program)
    }

    /// The one that never ends, after the load.
    pub(crate) fn after() -> CurrentWindow {
        CurrentWindow { window: LoadWindow::After, ends: Instant::NEVER }
    }

    /// The one after that of `phase`.
    pub(crate) fn next(phase: PhaseIndex, program: &Program) -> CurrentWindow {
        CurrentWindow::new(PhaseIndex(phase.0 + 1), program)
    }

    fn new(phase: PhaseIndex, program: &Program) -> CurrentWindow {
        if phase.0 >= program.shape.setup_phase().0 {
            return CurrentWindow::after();
        }
        CurrentWindow { window: LoadWindow::Phase(phase), ends: program.phase(phase).end }
    }
}
