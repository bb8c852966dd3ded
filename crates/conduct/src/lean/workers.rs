//! The workers of a run: there are none.

use std::path::Path;
use std::sync::mpsc::Sender;

use engine::{EngineError, Program, RunOptions, Totals};
use evidence::Observed;
use evidence::manifest::Worker;
use evidence::tick_channel::TickSender;
use plans::Overrides;
use workload::LoadedPlan;

use crate::failure::CommandResult;
use crate::plan;
use crate::worker_options::WorkerOptions;

pub enum ConnectedWorkers {}

/// Workers that could begin.
pub(crate) enum ReadyWorkers {}

/// A plan; no workers offer its load.
pub struct ResolvedRun {
    pub plan: LoadedPlan,
    /// None: there are none.
    pub workers: Option<ConnectedWorkers>,
}

/// The plan at this path.
pub fn resolve(
    path: &Path,
    overrides: &Overrides,
    asked: Option<&WorkerOptions>,
) -> CommandResult<ResolvedRun> {
    match asked {
        Some(_) => super::refused("workers"),
        None => Ok(ResolvedRun { plan: plan::resolve(path, overrides)?, workers: None }),
    }
}

impl ConnectedWorkers {
    pub fn weight(&self) -> u16 {
        match *self {}
    }

    pub(crate) fn make_ready(self, _: &Program, _loops: u16) -> CommandResult<ReadyWorkers> {
        match self {}
    }
}

impl ReadyWorkers {
    pub(crate) fn described(&self) -> Vec<Worker> {
        match *self {}
    }

    pub(crate) fn run(
        self,
        _: &RunOptions,
        _: Vec<TickSender>,
        _: &Sender<Observed>,
    ) -> Result<Totals, EngineError> {
        match self {}
    }
}
