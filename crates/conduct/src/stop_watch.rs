//! Ends a run whose stop rule does not hold: it reads the ticks that are recorded, and drains as the first Ctrl-C does.

use std::sync::{Arc, OnceLock};

use engine::{Command, Control};
use evidence::sink::{Sink, SinkError};
use evidence::stop_rule::{StopRules, Violation};
use evidence::{Observed, RunEnd, Tick};
use workload::Workload;

use crate::screen::note;

/// Why a run was ended before its planned end, other than by a signal.
#[derive(Debug)]
pub enum EarlyEnd {
    /// A stop rule did not hold.
    Violated(Violation),
    /// Every objective was decided.
    Decided,
    /// No virtual user of a scenario could be set up, for this reason.
    NotSetUp(String),
    /// Thresholds of a script on these metrics did not hold.
    Crossed(String),
}

/// What ended a run early: the first of all that would.
#[derive(Debug, Clone, Default)]
pub struct EndedBy(Arc<OnceLock<EarlyEnd>>);

impl EndedBy {
    /// The run is being ended for this reason, unless it is for another already.
    pub fn set(&self, why: EarlyEnd) {
        // What comes later changes nothing: the run is ending.
        let _ = self.0.set(why);
    }

    /// The reason, once there is one.
    pub fn get(&self) -> Option<&EarlyEnd> {
        self.0.get()
    }
}

/// Evaluates the stop rules of a run once a second.
pub struct StopWatch {
    rules: StopRules,
    control: Control,
    ended_by: EndedBy,
}

impl StopWatch {
    /// Watches a run with so many loops.
    pub fn new(workload: &Workload, loops: u16, control: Control) -> StopWatch {
        StopWatch {
            rules: StopRules::new(figures::stop_rules(workload), loops),
            control,
            ended_by: EndedBy::default(),
        }
    }

    /// Where it says which rule asked the loops to stop, once one did not hold.
    pub fn ended_by(&self) -> EndedBy {
        self.ended_by.clone()
    }

    /// What it stops the loops through.
    pub fn control(&self) -> Control {
        self.control.clone()
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
            note(format_args!("stopping: {violation}; no new arrivals, waiting for requests in flight"));
            // It fires once: from now on the command is another.
            self.ended_by.set(EarlyEnd::Violated(violation));
            self.control.drain();
        }
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}
