//! Steps sent once, one at a time, with every exchange kept: the run's setup, the check before the load, `--once`.

mod progress;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evidence::tick_channel::tick_channel;
use evidence::{Exemplar, Outcome, Tick};
use workload::draw::FIRST_EXTRA;

use crate::clock::Clock;
use crate::control::Control;
use crate::event_loop::{EventLoop, LoopLinks, LoopLoad, Shared, SingleIteration};
use crate::index::{PhaseIndex, ScenarioIndex};
use crate::iteration::{Arrival, Context, Event, Iteration, Progress, UserMaker};
use crate::program::{FlowProgram, Program, ScenarioSteps};
use crate::steps::{PlanIteration, StepPlace};
use crate::{EngineError, RunOptions};
pub use progress::{DryRunProgress, StepUnderWay};

/// Why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum DryRunError {
    /// The steps could not be sent at all.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Steps failed, with these exchanges.
    #[error("steps failed before the load: {}", names(.0))]
    Failed(Vec<Exemplar>),
}

/// Sends each step once, before the load or instead of it.
#[derive(Debug)]
pub struct DryRun {
    program: Arc<Program>,
    clock: Clock,
    /// Ends what is under way.
    control: Control,
    /// The exchanges of the run's setup.
    exchanges: Vec<Exemplar>,
    progress: DryRunProgress,
}

/// A scenario whose steps were not sent before the load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub scenario: String,
    /// The data file whose unique rows the schedule uses up.
    pub data: String,
}

/// Which rows of data files a dry run takes, and which random values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Data {
    /// Those of the first arrival: the run itself does not follow, or continues it.
    OfTheSchedule,
    /// Such as no arrival has.
    OfItsOwn,
}

impl Data {
    /// The number of the request at this place, from 0.
    fn number(self, place: u64) -> u64 {
        match self {
            Data::OfTheSchedule => 0,
            Data::OfItsOwn => FIRST_EXTRA + place,
        }
    }
}

/// Steps that are sent once, and the number by which they choose their data.
struct DryFlow {
    steps: FlowProgram,
    number: u64,
}

/// The names of the steps.
fn names(exchanges: &[Exemplar]) -> String {
    let names = exchanges.iter().map(|exchange| format!("`{}`", exchange.endpoint));
    names.collect::<Vec<_>>().join(", ")
}

fn require_success(exchanges: &[Exemplar]) -> Result<(), DryRunError> {
    let failed: Vec<_> = exchanges.iter().filter(|e| e.outcome != Outcome::Ok).cloned().collect();
    if failed.is_empty() { Ok(()) } else { Err(DryRunError::Failed(failed)) }
}

/// What one pass through a flow gave.
struct FlowResult {
    ticks: Vec<Tick>,
    variables: Vec<Arc<[u8]>>,
}

impl DryRun {
    /// A dry run of this program.
    pub fn new(program: impl Into<Arc<Program>>) -> DryRun {
        DryRun::timed(program, Clock::starting_in(Duration::ZERO), Control::new())
    }

    /// The same by the clock of a run whose load is over; `control` ends it when it abandons the run.
    pub fn timed(program: impl Into<Arc<Program>>, clock: Clock, control: Control) -> DryRun {
        DryRun {
            program: program.into(),
            clock,
            control,
            exchanges: Vec::new(),
            progress: DryRunProgress::default(),
        }
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
        let steps = FlowProgram::Sequence(self.program.steps.setup.clone());
        let flow = DryFlow { steps, number: Data::OfTheSchedule.number(0) };
        let mut performed = self.perform(setup, self.program.steps.setup_variables.clone(), flow)?;
        let exchanges = performed.take_exchanges();
        require_success(&exchanges)?;
        Ok(self.with_program(exchanges, |program| {
            program.steps.setup_variables = performed.variables;
            program.steps.setup_ticks = performed.ticks;
        }))
    }

    /// Let one virtual user make one iteration, which is counted as the run's setup is. What it has counted is returned also
    /// where it did not come to its end.
    pub fn iterate_once(
        &self,
        make: impl FnOnce() -> Box<dyn UserMaker> + Send,
    ) -> (Vec<Tick>, Result<(), EngineError>) {
        self.iterate(self.program.shape.setup(), make)
    }

    /// What one iteration has counted is that of the run's setup.
    pub fn set_up_by(self, ticks: Vec<Tick>) -> DryRun {
        let exchanges = self.exchanges.clone();
        self.with_program(exchanges, |program| program.steps.setup_ticks.extend(ticks))
    }

    fn with_program(self, exchanges: Vec<Exemplar>, change: impl FnOnce(&mut Program)) -> DryRun {
        let (clock, control) = (self.clock, self.control.clone());
        let mut program = self.into_program();
        change(&mut program);
        DryRun { exchanges, ..DryRun::timed(program, clock, control) }
    }

    /// Send each step of each scenario once and return every exchange, the setup's first, in the plan's order. A
    /// sequence ends at its first failure; the steps of a mix do not depend on each other.
    ///
    /// # Errors
    /// [`EngineError`] when they could not be sent at all. A failing target is in the exchanges.
    pub fn once(&self) -> Result<Vec<Exemplar>, EngineError> {
        let mut exchanges = self.exchanges.clone();
        for index in 0..self.program.steps.scenarios.len() {
            exchanges.extend(self.send_each(ScenarioIndex(index), Data::OfTheSchedule)?);
        }
        Ok(exchanges)
    }

    /// The scenarios that [`DryRun::check`] leaves out: they take unique rows, and the schedule uses them all.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOut> {
        let workload = self.program.workload();
        workload.scenarios.iter().enumerate().filter_map(|(index, scenario)| {
            let data = workload.without_spare_rows(index)?.to_owned();
            Some(LeftOut { scenario: scenario.name.clone(), data })
        })
    }

    /// Send each step of each scenario once beside the schedule, with data of its own, and check that all succeeded. The
    /// exchanges, in the plan's order.
    ///
    /// # Errors
    /// [`DryRunError::Failed`] with the exchanges that failed.
    pub fn check(&self) -> Result<Vec<Exemplar>, DryRunError> {
        let workload = self.program.workload();
        let scenarios = &self.program.steps.scenarios;
        let sent = (0..scenarios.len()).filter(|index| workload.without_spare_rows(*index).is_none());
        self.progress.expect(sent.clone().map(|index| sent_steps(&scenarios[index])).sum());
        let mut exchanges = Vec::new();
        for index in sent {
            exchanges.extend(self.send_each(ScenarioIndex(index), Data::OfItsOwn)?);
        }
        require_success(&exchanges)?;
        Ok(exchanges)
    }

    /// Send each step of a scenario once, and return the exchanges in order.
    fn send_each(&self, index: ScenarioIndex, data: Data) -> Result<Vec<Exemplar>, EngineError> {
        let scenario = &self.program.steps.scenarios[index.0];
        let mut exchanges = Vec::new();
        let mut variables = self.program.steps.setup_variables.clone();
        if !scenario.setup.is_empty() {
            let steps = FlowProgram::Sequence(scenario.setup.clone());
            let mut performed = self.perform(index, variables, DryFlow { steps, number: data.number(0) })?;
            exchanges.extend(performed.take_exchanges());
            if exchanges.iter().any(|exchange| exchange.outcome != Outcome::Ok) && data == Data::OfItsOwn {
                return Ok(exchanges);
            }
            variables = performed.variables;
        }
        for (place, steps) in one_step_flows(&scenario.flow).into_iter().enumerate() {
            let flow = DryFlow { steps, number: data.number(place as u64) };
            let mut performed = self.perform(index, variables.clone(), flow)?;
            exchanges.extend(performed.take_exchanges());
        }
        Ok(exchanges)
    }

    /// How far [`DryRun::check`] is.
    pub fn progress(&self) -> DryRunProgress {
        self.progress.clone()
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
        flow: DryFlow,
    ) -> Result<FlowResult, EngineError> {
        let found = Arc::new(Mutex::new(variables.clone()));
        let (program, kept, progress) = (self.program.clone(), found.clone(), self.progress.clone());
        let (ticks, ended) = self.iterate(scenario, move || {
            let iteration = PlanIteration::of_flow(program, scenario, variables, flow.steps);
            Box::new(SingleUser { iteration: Some((iteration, flow.number)), found: kept, progress })
        });
        ended?;
        let variables = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(FlowResult { ticks, variables })
    }

    /// Make one iteration of one virtual user, which is made on the loop's thread. What it counts is in the ticks.
    fn iterate(
        &self,
        scenario: ScenarioIndex,
        make: impl FnOnce() -> Box<dyn UserMaker> + Send,
    ) -> (Vec<Tick>, Result<(), EngineError>) {
        let options = RunOptions {
            program: self.program.clone(),
            clock: self.clock,
            control: self.control.clone(),
            behaviour: None,
            wakeup: crate::Wakeup::default(),
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
            (ticks, ended.map(|_| ()))
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
    /// With the number by which it chooses its data.
    iteration: Option<(PlanIteration, u64)>,
    /// The values that its steps have extracted.
    found: Arc<Mutex<Vec<Arc<[u8]>>>>,
    progress: DryRunProgress,
}

impl UserMaker for SingleUser {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        let (iteration, number) = self.iteration.take().expect("one virtual user is made");
        let (found, progress) = (self.found.clone(), self.progress.clone());
        Box::new(SingleRun { iteration, number, found, progress, begun: None })
    }
}

struct SingleRun {
    iteration: PlanIteration,
    number: u64,
    found: Arc<Mutex<Vec<Arc<[u8]>>>>,
    progress: DryRunProgress,
    /// The step that began last.
    begun: Option<StepPlace>,
}

impl Iteration for SingleRun {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        let progress = self.iteration.resume(self.numbered(event), context);
        if matches!(progress, Progress::Done(_)) {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.clone_from_slice(self.iteration.variables());
        } else {
            self.note_step();
        }
        progress
    }
}

impl SingleRun {
    /// A step that the iteration has come to has begun.
    fn note_step(&mut self) {
        let (place, name) = self.iteration.step_under_way();
        if self.begun != Some(place) {
            self.begun = Some(place);
            self.progress.begin(name);
        }
    }

    /// The event, with the number by which data are chosen.
    fn numbered<'a>(&self, event: Event<'a>) -> Event<'a> {
        match event {
            Event::Begin(arrival) => {
                let scenario_user = u32::try_from(self.number).unwrap_or(u32::MAX);
                Event::Begin(Arrival { number: self.number, scenario_user, ..arrival })
            }
            event => event,
        }
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

/// How many steps are sent of a scenario: one of those that take turns.
fn sent_steps(scenario: &ScenarioSteps) -> usize {
    let in_flow = match &scenario.flow {
        FlowProgram::InTurn { .. } => 1,
        flow => flow.steps().len(),
    };
    scenario.setup.len() + in_flow
}
