//! Steps sent once, one at a time, with every exchange kept: the run's setup, the check before the load, `--once`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evidence::tick_channel::tick_channel;
use evidence::{Exemplar, Outcome, Tick};

use crate::clock::Clock;
use crate::control::Control;
use crate::event_loop::{EventLoop, LoopLinks, LoopLoad, Shared, SingleIteration};
use crate::index::{PhaseIndex, ScenarioIndex};
use crate::iteration::{Context, Event, Iteration, Progress, UserMaker};
use crate::program::{FlowProgram, Program};
use crate::steps::PlanIteration;
use crate::{EngineError, RunOptions};

/// Why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum DryRunError {
    /// The steps could not be sent at all.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A step failed, with this exchange.
    #[error("step `{}` failed before the load: {}", .0.endpoint, .0.detail)]
    Failed(Box<Exemplar>),
}

/// Sends each step once, before the load or instead of it.
#[derive(Debug)]
pub struct DryRun {
    program: Arc<Program>,
    clock: Clock,
    /// The exchanges of the run's setup.
    exchanges: Vec<Exemplar>,
}

/// What one pass through a flow gave.
struct FlowResult {
    ticks: Vec<Tick>,
    variables: Vec<Arc<[u8]>>,
}

impl DryRun {
    /// A dry run of this program.
    pub fn new(program: impl Into<Arc<Program>>) -> DryRun {
        let clock = Clock::starting_in(Duration::ZERO);
        DryRun { program: program.into(), clock, exchanges: Vec::new() }
    }

    /// Send the run's setup steps. Every virtual user begins with the values that they extract.
    ///
    /// # Errors
    /// [`DryRunError::Failed`] with the exchange of the step that failed.
    pub fn set_up(self) -> Result<DryRun, DryRunError> {
        if self.program.steps.setup.is_empty() {
            return Ok(self);
        }
        let setup = self.program.shape.setup();
        let flow = FlowProgram::Sequence(self.program.steps.setup.clone());
        let mut performed = self.perform(setup, self.program.steps.setup_variables.clone(), flow)?;
        let exchanges = performed.take_exchanges();
        if let Some(failed) = exchanges.iter().find(|e| e.outcome != Outcome::Ok) {
            return Err(DryRunError::Failed(Box::new(failed.clone())));
        }
        let clock = self.clock;
        let mut program = self.into_program();
        program.steps.setup_variables = performed.variables;
        program.steps.setup_ticks = performed.ticks;
        Ok(DryRun { program: Arc::new(program), clock, exchanges })
    }

    /// Let one virtual user make one iteration, which is counted as the run's setup is.
    ///
    /// # Errors
    /// [`EngineError`] when it cannot be made at all.
    pub fn iterate_once(
        &self,
        make: impl FnOnce() -> Box<dyn UserMaker> + Send,
    ) -> Result<Vec<Tick>, EngineError> {
        self.iterate(self.program.shape.setup(), make)
    }

    /// What one iteration has counted is that of the run's setup.
    pub fn set_up_by(self, ticks: Vec<Tick>) -> DryRun {
        let (clock, exchanges) = (self.clock, self.exchanges.clone());
        let mut program = self.into_program();
        program.steps.setup_ticks.extend(ticks);
        DryRun { program: Arc::new(program), clock, exchanges }
    }

    /// Send each step of each scenario once and return every exchange, the setup's first, in the plan's order. A
    /// sequence ends at its first failure; the steps of a mix do not depend on each other.
    ///
    /// # Errors
    /// [`EngineError`] when they could not be sent at all. A failing target is in the exchanges.
    pub fn once(&self) -> Result<Vec<Exemplar>, EngineError> {
        let mut exchanges = self.exchanges.clone();
        for (index, scenario) in self.program.steps.scenarios.iter().enumerate() {
            let index = ScenarioIndex(index);
            let mut variables = self.program.steps.setup_variables.clone();
            if !scenario.setup.is_empty() {
                let setup = FlowProgram::Sequence(scenario.setup.clone());
                let mut performed = self.perform(index, variables, setup)?;
                exchanges.extend(performed.take_exchanges());
                variables = performed.variables;
            }
            for flow in one_step_flows(&scenario.flow) {
                let mut performed = self.perform(index, variables.clone(), flow)?;
                exchanges.extend(performed.take_exchanges());
            }
        }
        Ok(exchanges)
    }

    /// Send each step once and check that all succeeded.
    ///
    /// # Errors
    /// [`DryRunError::Failed`] with the first exchange that failed.
    pub fn check(&self) -> Result<(), DryRunError> {
        let failed = self.once()?.into_iter().find(|e| e.outcome != Outcome::Ok);
        failed.map_or(Ok(()), |failed| Err(DryRunError::Failed(Box::new(failed))))
    }

    /// The program whose steps are sent.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The program, ready to run.
    pub fn into_program(self) -> Program {
        Arc::into_inner(self.program).expect("iterations of a dry run end with it")
    }

    /// Send the steps of a flow, on the same loop as the load.
    fn perform(
        &self,
        scenario: ScenarioIndex,
        variables: Vec<Arc<[u8]>>,
        flow: FlowProgram,
    ) -> Result<FlowResult, EngineError> {
        let found = Arc::new(Mutex::new(variables.clone()));
        let (program, kept) = (self.program.clone(), found.clone());
        let ticks = self.iterate(scenario, move || {
            let iteration = PlanIteration::of_flow(program, scenario, variables, flow);
            Box::new(SingleUser { iteration: Some(iteration), found: kept })
        })?;
        let variables = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(FlowResult { ticks, variables })
    }

    /// Make one iteration of one virtual user, which is made on the loop's thread. What it counts is in the ticks.
    fn iterate(
        &self,
        scenario: ScenarioIndex,
        make: impl FnOnce() -> Box<dyn UserMaker> + Send,
    ) -> Result<Vec<Tick>, EngineError> {
        let options = RunOptions {
            program: self.program.clone(),
            clock: self.clock,
            control: Control::new(),
            behaviour: None,
        };
        let (outlet, inlet) = tick_channel();
        let shape = &self.program.shape;
        let phase = if scenario == shape.setup() { shape.setup_phase() } else { PhaseIndex(0) };
        let run = || {
            let single = SingleIteration { scenario, phase };
            let users = single.users(&options.program, make());
            let links = LoopLinks { outlet, shared: Shared::default() };
            EventLoop::new(&options, LoopLoad::Once(single), users, links)?.run()
        };
        std::thread::scope(|scope| {
            // A loop sets timers of its thread, and this one belongs to the caller.
            let driven = scope.spawn(run);
            let mut ticks = Vec::new();
            while let Some(tick) = inlet.wait() {
                ticks.push(*tick);
            }
            let ended = driven.join().unwrap_or_else(|_| Err(EngineError::Loop("it panicked".into())));
            ended.map(|_| ticks)
        })
    }
}

impl FlowResult {
    /// Take the exchanges, in the order in which they ended.
    fn take_exchanges(&mut self) -> Vec<Exemplar> {
        self.ticks.iter_mut().flat_map(|tick| std::mem::take(&mut tick.exemplars)).collect()
    }
}

/// The one virtual user of a flow.
struct SingleUser {
    iteration: Option<PlanIteration>,
    /// The values that its steps have extracted.
    found: Arc<Mutex<Vec<Arc<[u8]>>>>,
}

impl UserMaker for SingleUser {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        let iteration = self.iteration.take().expect("one virtual user is made");
        Box::new(SingleRun { iteration, found: self.found.clone() })
    }
}

struct SingleRun {
    iteration: PlanIteration,
    found: Arc<Mutex<Vec<Arc<[u8]>>>>,
}

impl Iteration for SingleRun {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        let progress = self.iteration.resume(event, context);
        if matches!(progress, Progress::Done(_)) {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.clone_from_slice(self.iteration.variables());
        }
        progress
    }
}

/// The steps of a mix as flows of their own; any other flow as it is.
fn one_step_flows(flow: &FlowProgram) -> Vec<FlowProgram> {
    match flow {
        FlowProgram::Mix { steps, .. } => {
            (0..steps.len()).map(|only| FlowProgram::Single { steps: steps.clone(), only }).collect()
        }
        script if script.steps().is_empty() => Vec::new(),
        other => vec![other.clone()],
    }
}
