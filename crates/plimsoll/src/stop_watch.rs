//! Ends a run whose stop rule does not hold: it reads the ticks that are recorded, and drains as the first Ctrl-C does.

use std::sync::{Arc, OnceLock};

use engine::{Command, Control};
use evidence::sink::{Sink, SinkError};
use evidence::stop_rule::{StopRules, Violation};
use evidence::{Observed, RunEnd, Tick};
use workload::Workload;

use crate::outputs::note;

/// Evaluates the stop rules of a run once a second.
pub(crate) struct StopWatch {
    rules: StopRules,
    control: Control,
    fired: Arc<OnceLock<Violation>>,
}

impl StopWatch {
    /// Watches a run with so many loops.
    pub(crate) fn new(workload: &Workload, loops: u16, control: Control) -> StopWatch {
        StopWatch { rules: StopRules::new(workload.stop_rules(), loops), control, fired: Arc::default() }
    }

    /// The rule that asked the loops to stop, once one did not hold.
    pub(crate) fn fired(&self) -> Arc<OnceLock<Violation>> {
        self.fired.clone()
    }
}

impl Sink for StopWatch {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.rules.take(tick);
        Ok(())
    }

    fn observed(&mut self, _observed: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        if self.control.command() == Command::Run
            && let Some(violation) = self.rules.violated()
        {
            note(format_args!("stopping: {violation}; no new arrivals, waiting for what is in flight"));
            // It fires once: from now on the command is another.
            let _ = self.fired.set(violation);
            self.control.drain();
        }
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}
