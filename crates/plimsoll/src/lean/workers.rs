//! The workers of a run: there are none.

use std::sync::mpsc::Sender;

use engine::{EngineError, Program, RunOptions, Totals};
use evidence::Observed;
use evidence::manifest::Worker;
use evidence::tick_channel::TickSender;
use workload::LoadedPlan;

use crate::arguments::RunArguments;
use crate::failure::CommandResult;
use crate::plan;

/// Workers that are connected.
pub(crate) enum ConnectedWorkers {}

/// Workers that could begin.
pub(crate) enum ReadyWorkers {}

/// A plan; no workers offer its load.
pub(crate) struct ResolvedRun {
    pub(crate) plan: LoadedPlan,
    pub(crate) workers: Option<ConnectedWorkers>,
}

/// The plan that the command line names.
pub(crate) fn resolve(arguments: &RunArguments) -> CommandResult<ResolvedRun> {
    if arguments.workers.are_asked_for() {
        return super::refused("workers");
    }
    Ok(ResolvedRun { plan: plan::resolve(&arguments.plan, &arguments.overrides)?, workers: None })
}

impl ConnectedWorkers {
    pub(crate) fn weight(&self) -> u16 {
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
