//! Steps sent once, one at a time, with every exchange kept: the run's setup, the check before the load, `--once`.

use std::sync::Arc;
use std::time::Duration;

use evidence::{Exemplar, ExemplarKind, Instant, Outcome};
use mio::{Events, Poll, Token, Waker};
use workload::schedule::Segment;

use crate::EngineError;
use crate::clock::Clock;
use crate::exchange::{CheckResult, OperationName};
use crate::exemplars::{KeptExchange, exemplar};
use crate::index::{CheckIndex, OperationIndex, PhaseIndex, ScenarioIndex};
use crate::iteration::{Arrival, Context, Event, Iteration, IterationRequest, Progress};
use crate::network::{EndedOperation, GivingUp, Network, is_connection};
use crate::operation::Operations;
use crate::program::{Counters, FlowProgram, MetNames, Program};
use crate::steps::PlanIteration;

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
    exchanges: Vec<Exemplar>,
    variables: Vec<Arc<[u8]>>,
}

impl DryRun {
    /// A dry run of this program.
    pub fn new(program: Program) -> DryRun {
        let clock = Clock::starting_in(Duration::ZERO);
        DryRun { program: Arc::new(program), clock, exchanges: Vec::new() }
    }

    /// Send the run's setup steps. Every virtual user begins with the values that they extract.
    ///
    /// # Errors
    /// [`DryRunError::Failed`] with the exchange of the step that failed.
    pub fn set_up(self) -> Result<DryRun, DryRunError> {
        if self.program.steps.setup.is_empty() {
            return Ok(self);
        }
        let after_last = ScenarioIndex(self.program.steps.scenarios.len());
        let flow = FlowProgram::Sequence(self.program.steps.setup.clone());
        let performed = self.perform(after_last, self.program.steps.setup_variables.clone(), flow)?;
        if let Some(failed) = performed.exchanges.iter().find(|e| e.outcome != Outcome::Ok) {
            return Err(DryRunError::Failed(Box::new(failed.clone())));
        }
        let clock = self.clock;
        let mut program = self.into_program();
        program.steps.setup_variables = performed.variables;
        Ok(DryRun { program: Arc::new(program), clock, exchanges: performed.exchanges })
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
                let performed = self.perform(index, variables, setup)?;
                variables = performed.variables;
                exchanges.extend(performed.exchanges);
            }
            for flow in one_step_flows(&scenario.flow) {
                let performed = self.perform(index, variables.clone(), flow)?;
                exchanges.extend(performed.exchanges);
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

    fn perform(
        &self,
        scenario: ScenarioIndex,
        variables: Vec<Arc<[u8]>>,
        flow: FlowProgram,
    ) -> Result<FlowResult, EngineError> {
        let iteration = PlanIteration::of_flow(self.program.clone(), scenario, variables, flow);
        DryRunLoop::new(self.program.clone(), self.clock)?.run(iteration)
    }
}

/// The steps of a mix as flows of their own; any other flow as it is.
fn one_step_flows(flow: &FlowProgram) -> Vec<FlowProgram> {
    match flow {
        FlowProgram::Mix { steps, .. } => {
            (0..steps.len()).map(|only| FlowProgram::Single { steps: steps.clone(), only }).collect()
        }
        other => vec![other.clone()],
    }
}

/// An event loop for one iteration.
struct DryRunLoop {
    program: Arc<Program>,
    clock: Clock,
    poll: Poll,
    network: Network,
    operations: Operations,
    counters: Counters,
    met_names: MetNames,
    requests: Vec<IterationRequest>,
    checks: Vec<(CheckIndex, CheckResult)>,
    /// The operation that has just completed.
    completed: Option<OperationIndex>,
    /// The timers that the iteration asked for.
    timers: Vec<(OperationName, Instant)>,
    exchanges: Vec<Exemplar>,
}

impl DryRunLoop {
    fn new(program: Arc<Program>, clock: Clock) -> Result<DryRunLoop, EngineError> {
        let poll = Poll::new().map_err(EngineError::Poll)?;
        let registry = poll.registry().try_clone().map_err(EngineError::Poll)?;
        let waker = Waker::new(poll.registry(), Token(0)).map_err(EngineError::Poll)?;
        let operations = Operations::new(&program.body_budget);
        Ok(DryRunLoop {
            network: Network::new(program.clone(), clock, registry, Arc::new(waker)),
            counters: program.steps.names.counters_of(Segment::WHOLE),
            met_names: MetNames::default(),
            program,
            clock,
            poll,
            operations,
            requests: Vec::new(),
            checks: Vec::new(),
            completed: None,
            timers: Vec::new(),
            exchanges: Vec::new(),
        })
    }

    fn run(mut self, mut iteration: PlanIteration) -> Result<FlowResult, EngineError> {
        let mut events = Events::with_capacity(64);
        let arrival = Arrival { number: 0, due: self.clock.now(), virtual_user: 1 };
        let mut progress = self.resume(&mut iteration, Event::Begin(arrival))?;
        while matches!(progress, Progress::Waiting(_)) {
            self.network.flush(&mut self.operations)?;
            if let Some(ended) = self.network.ended.pop() {
                progress = self.complete(&mut iteration, ended)?;
                continue;
            }
            let now = self.clock.now();
            if let Some(due) = self.timers.iter().position(|(_, at)| *at <= now) {
                let (name, _) = self.timers.swap_remove(due);
                progress = self.resume(&mut iteration, Event::TimerFired(name))?;
                continue;
            }
            if let Some(operation) = self.overdue(now) {
                self.network.abandon(operation, GivingUp::TimedOut, &mut self.operations)?;
                let operation = self.operations.token(operation);
                let timeout = EndedOperation::new(operation, Some(Outcome::Timeout));
                progress = self.complete(&mut iteration, timeout)?;
                continue;
            }
            self.wait(&mut events, now)?;
        }
        Ok(FlowResult { exchanges: self.exchanges, variables: iteration.into_variables() })
    }

    fn overdue(&self, now: Instant) -> Option<OperationIndex> {
        self.operations.all_open().find(|(_, o)| o.draft.deadline <= now).map(|(index, _)| index)
    }

    fn wait(&mut self, events: &mut Events, now: Instant) -> Result<(), EngineError> {
        let deadline = self.operations.all_open().map(|(_, o)| o.draft.deadline).min();
        let wake = self.timers.iter().map(|(_, at)| *at).chain(deadline).min();
        // The poll rounds down to whole milliseconds, and a wait of zero would spin.
        let timeout = wake.map(|wake| wake.since(now) + Duration::from_millis(1));
        match self.poll.poll(events, timeout) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(EngineError::Poll(error)),
        }
        self.network.woke(self.clock.now());
        self.network.established.clear();
        self.network.continue_resolved(&mut self.operations)?;
        for event in events.iter().filter(|event| is_connection(event.token())) {
            self.network.ready(event, &mut self.operations)?;
        }
        Ok(())
    }

    fn complete(
        &mut self,
        iteration: &mut PlanIteration,
        ended: EndedOperation,
    ) -> Result<Progress, EngineError> {
        let Some(index) = self.operations.index_of(ended.operation) else { return Ok(Progress::WAITING) };
        if self.network.send_again(&ended, &mut self.operations)? {
            return Ok(Progress::WAITING);
        }
        self.network.release_cut(index, &mut self.operations)?;
        let now = self.clock.now();
        let response = std::mem::take(&mut self.operations.get_mut(index).response);
        let name = self.operations.get(index).name;
        let event = Event::Completed { name, response: &response, transport: ended.transport };
        self.completed = Some(index);
        let mut progress = self.resume(iteration, event)?;
        self.operations.get_mut(index).response = response;
        if matches!(progress, Progress::Continuing) {
            self.operations.renew(index);
            self.network.submit(index, &mut self.operations)?;
            return Ok(Progress::WAITING);
        }
        let rejection = progress.take_rejection();
        let outcome = ended.transport.or(rejection.as_ref().map(|r| r.outcome)).unwrap_or(Outcome::Ok);
        self.keep(index, outcome, rejection.as_ref().map_or("", |r| &r.reason), now);
        self.operations.close(index);
        Ok(progress)
    }

    fn keep(&mut self, index: OperationIndex, outcome: Outcome, detail: &str, now: Instant) {
        let operation = self.operations.get(index);
        let exchange = operation.exchange(PhaseIndex(0), outcome, now);
        let kind = if outcome.is_failure() { ExemplarKind::Failed } else { ExemplarKind::Slowest };
        let detail = match (operation.failure_reason(), detail) {
            (Some(reason), _) => reason,
            (None, "") if outcome.is_failure() => outcome.to_string(),
            (None, detail) => detail.to_owned(),
        };
        let kept = KeptExchange { operation, exchange: &exchange, kind, detail: &detail };
        self.exchanges.push(exemplar(&self.program, &kept));
    }

    fn resume(&mut self, iteration: &mut PlanIteration, event: Event<'_>) -> Result<Progress, EngineError> {
        self.checks.clear();
        let mut context = Context {
            now: self.clock.now(),
            epoch_unix_ns: self.clock.epoch_unix_ns(),
            operations: &mut self.operations,
            requests: &mut self.requests,
            checks: &mut self.checks,
            counters: &self.counters,
            directory: &self.program.directory,
            met_names: &mut self.met_names,
            scenario: ScenarioIndex(0),
            completed: self.completed.take(),
        };
        let progress = iteration.resume(event, &mut context);
        if let Progress::Abort(reason) = progress {
            return Err(EngineError::Aborted(reason));
        }
        for request in std::mem::take(&mut self.requests) {
            match request {
                IterationRequest::Timer { name, at } => self.timers.push((name, at)),
                IterationRequest::SendMore(token) => self.network.send_more(token, &mut self.operations),
                IterationRequest::Cut(token) => self.network.cut(token, &mut self.operations),
                IterationRequest::Fail(token) => self.network.refuse(token, &mut self.operations)?,
                IterationRequest::Submit(operation)
                    if self.operations.get(operation).unsendable.is_some() => {}
                IterationRequest::Submit(operation) => {
                    self.network.submit(operation, &mut self.operations)?;
                }
            }
        }
        Ok(progress)
    }
}
