//! Steps sent once, one at a time, each exchange kept: the run's setup, the check before the load, `--once`.

use std::sync::Arc;
use std::time::Duration;

use evidence::{Exemplar, ExemplarKind, Instant, Outcome};
use mio::{Events, Poll};
use workload::schedule::Segment;

use crate::EngineError;
use crate::accounting::Exchange;
use crate::clock::Clock;
use crate::exemplars::exemplar;
use crate::iteration::{Arrival, Context, Event, Iteration, Opinion, Progress, Want};
use crate::network::{FIRST_CONNECTION, Network};
use crate::operation::{Ended, Operations};
use crate::program::{Counters, FlowProgram, Program};
use crate::steps::PlanIteration;

/// Why a run cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum DryRunError {
    /// The steps could not be sent at all.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A step failed; here is the exchange.
    #[error("step `{}` failed before the load: {}", .0.endpoint, .0.detail)]
    Failed(Box<Exemplar>),
}

/// Sends steps once, before the load.
#[derive(Debug)]
pub struct DryRun {
    program: Arc<Program>,
    clock: Clock,
    /// What the run's setup exchanged.
    exchanges: Vec<Exemplar>,
}

/// What a flow left behind.
struct Performed {
    exchanges: Vec<Exemplar>,
    variables: Vec<Vec<u8>>,
}

impl DryRun {
    /// Rehearse this program.
    pub fn new(program: Program) -> DryRun {
        let clock = Clock::starting_in(Duration::ZERO);
        DryRun { program: Arc::new(program), clock, exchanges: Vec::new() }
    }

    /// Make the run's setup steps, whose extracted values every virtual user will begin with.
    ///
    /// # Errors
    /// [`DryRunError::Failed`] with the exchange of the step that failed.
    pub fn set_up(self) -> Result<DryRun, DryRunError> {
        if self.program.setup.is_empty() {
            return Ok(self);
        }
        let scenario = self.program.scenarios.len();
        let flow = FlowProgram::Sequence(self.program.setup.clone());
        let performed = self.perform((scenario, self.program.shared.clone()), flow)?;
        if let Some(failed) = performed.exchanges.iter().find(|e| e.outcome != Outcome::Ok) {
            return Err(DryRunError::Failed(Box::new(failed.clone())));
        }
        let clock = self.clock;
        let mut program = self.into_program();
        program.shared = performed.variables;
        Ok(DryRun { program: Arc::new(program), clock, exchanges: performed.exchanges })
    }

    /// Send each step of each scenario once and return every exchange, the setup's first, in the plan's order. A sequence ends
    /// at its first failure; the steps of a mix do not depend on each other.
    ///
    /// # Errors
    /// [`EngineError`] when they could not be sent at all. A failing target is in the exchanges.
    pub fn once(&self) -> Result<Vec<Exemplar>, EngineError> {
        let mut exchanges = self.exchanges.clone();
        for (place, scenario) in self.program.scenarios.iter().enumerate() {
            let mut variables = self.program.shared.clone();
            if !scenario.setup.is_empty() {
                let setup = FlowProgram::Sequence(scenario.setup.clone());
                let performed = self.perform((place, variables), setup)?;
                variables = performed.variables;
                exchanges.extend(performed.exchanges);
            }
            for flow in singly(&scenario.flow) {
                let performed = self.perform((place, variables.clone()), flow)?;
                exchanges.extend(performed.exchanges);
            }
        }
        Ok(exchanges)
    }

    /// Send each step once and stop at the first that fails.
    ///
    /// # Errors
    /// [`DryRunError::Failed`] with its exchange.
    pub fn check(&self) -> Result<(), DryRunError> {
        let failed = self.once()?.into_iter().find(|e| e.outcome != Outcome::Ok);
        failed.map_or(Ok(()), |failed| Err(DryRunError::Failed(Box::new(failed))))
    }

    /// The program, ready to run.
    pub fn into_program(self) -> Program {
        Arc::into_inner(self.program).expect("iterations of a rehearsal end with it")
    }

    fn perform(
        &self,
        (scenario, variables): (usize, Vec<Vec<u8>>),
        flow: FlowProgram,
    ) -> Result<Performed, EngineError> {
        let iteration = PlanIteration::of_flow(self.program.clone(), (scenario, variables), flow);
        let mut stage = Stage::new(self.program.clone(), self.clock)?;
        stage.play(iteration)
    }
}

fn singly(flow: &FlowProgram) -> Vec<FlowProgram> {
    match flow {
        FlowProgram::Mix { steps, .. } => {
            (0..steps.len()).map(|only| FlowProgram::Single { steps: steps.clone(), only }).collect()
        }
        other => vec![other.clone()],
    }
}

/// One iteration's worth of engine.
struct Stage {
    program: Arc<Program>,
    clock: Clock,
    poll: Poll,
    network: Network,
    operations: Operations,
    counters: Counters,
    wants: Vec<Want>,
    opinion: Opinion,
    /// The operation that has just completed.
    completed: Option<u32>,
    /// Instants at which the iteration wants to be resumed, by the names it gave them.
    wakes: Vec<(u32, Instant)>,
    exchanges: Vec<Exemplar>,
}

impl Stage {
    fn new(program: Arc<Program>, clock: Clock) -> Result<Stage, EngineError> {
        let poll = Poll::new().map_err(EngineError::Poll)?;
        let registry = poll.registry().try_clone().map_err(EngineError::Poll)?;
        Ok(Stage {
            network: Network::new(program.clone(), clock, registry),
            counters: program.names.counters_of(Segment::WHOLE),
            program,
            clock,
            poll,
            operations: Operations::default(),
            wants: Vec::new(),
            opinion: Opinion::default(),
            completed: None,
            wakes: Vec::new(),
            exchanges: Vec::new(),
        })
    }

    fn play(&mut self, mut iteration: PlanIteration) -> Result<Performed, EngineError> {
        let mut events = Events::with_capacity(64);
        let arrival = Arrival { number: 0, due: self.clock.now(), virtual_user: 1 };
        let mut progress = self.resume(&mut iteration, Event::Begin(arrival))?;
        while progress == Progress::Waiting {
            self.network.flush(&mut self.operations)?;
            if let Some(ended) = self.network.ended.pop() {
                progress = self.complete(&mut iteration, ended)?;
                continue;
            }
            let now = self.clock.now();
            if let Some(due) = self.wakes.iter().position(|(_, at)| *at <= now) {
                let (want, _) = self.wakes.swap_remove(due);
                progress = self.resume(&mut iteration, Event::Fired(want))?;
                continue;
            }
            if let Some(operation) = self.overdue(now) {
                self.network.abandon(operation, &mut self.operations)?;
                let operation = self.operations.token(operation);
                let timeout = Ended { operation, transport: Some(Outcome::Timeout) };
                progress = self.complete(&mut iteration, timeout)?;
                continue;
            }
            self.wait(&mut events, now)?;
        }
        let exchanges = std::mem::take(&mut self.exchanges);
        Ok(Performed { exchanges, variables: iteration.into_variables() })
    }

    fn overdue(&self, now: Instant) -> Option<u32> {
        self.operations.open_ones().find(|(_, o)| o.draft.deadline <= now).map(|(place, _)| place)
    }

    fn wait(&mut self, events: &mut Events, now: Instant) -> Result<(), EngineError> {
        let deadline = self.operations.open_ones().map(|(_, o)| o.draft.deadline).min();
        let wake = self.wakes.iter().map(|(_, at)| *at).chain(deadline).min();
        // The poll rounds down to whole milliseconds, and a wait of zero would spin.
        let patience = wake.map(|wake| wake.since(now) + Duration::from_millis(1));
        match self.poll.poll(events, patience) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(EngineError::Poll(error)),
        }
        self.network.woke(self.clock.now());
        self.network.established.clear();
        for event in events.iter().filter(|event| event.token().0 >= FIRST_CONNECTION) {
            self.network.ready(event, &mut self.operations)?;
        }
        Ok(())
    }

    fn complete(&mut self, iteration: &mut PlanIteration, ended: Ended) -> Result<Progress, EngineError> {
        let Some(place) = self.operations.place_of(ended.operation) else { return Ok(Progress::Waiting) };
        self.network.let_go(place, &mut self.operations)?;
        let now = self.clock.now();
        let response = std::mem::take(&mut self.operations.get_mut(place).response);
        let want = self.operations.get(place).want;
        let event = Event::Completed { want, response: &response, transport: ended.transport };
        self.completed = Some(place);
        let progress = self.resume(iteration, event)?;
        self.operations.get_mut(place).response = response;
        if std::mem::take(&mut self.opinion.goes_on) {
            self.operations.renew(place);
            self.network.submit(place, &mut self.operations)?;
            return Ok(progress);
        }
        self.keep(place, (ended.transport, now));
        self.operations.close(place);
        Ok(progress)
    }

    fn keep(&mut self, place: u32, (transport, now): (Option<Outcome>, Instant)) {
        let operation = self.operations.get(place);
        let outcome = transport.or(self.opinion.outcome).unwrap_or(Outcome::Ok);
        let exchange = Exchange {
            endpoint: operation.draft.endpoint,
            phase: 0,
            outcome,
            response_ns: now.since(operation.draft.due).as_nanos() as u64,
            service_ns: (operation.sent != Instant::NEVER)
                .then(|| now.since(operation.sent).as_nanos() as u64),
            bytes_in: operation.bytes_in,
            bytes_out: operation.bytes_out,
            first_message_ns: operation.first_message_ns(),
            messages: (operation.response.messages, operation.draft.messages),
            phases: None,
        };
        let kind = if outcome.is_failure() { ExemplarKind::Failed } else { ExemplarKind::Slowest };
        let detail = match (operation.reason(), self.opinion.detail.as_str()) {
            (Some(reason), _) => reason,
            (None, "") if outcome.is_failure() => outcome.to_string(),
            (None, detail) => detail.to_owned(),
        };
        self.exchanges.push(exemplar(&self.program, (operation, &exchange), (kind, &detail)));
    }

    fn resume(&mut self, iteration: &mut PlanIteration, event: Event<'_>) -> Result<Progress, EngineError> {
        self.opinion.clear();
        let mut context = Context {
            now: self.clock.now(),
            operations: &mut self.operations,
            wants: &mut self.wants,
            opinion: &mut self.opinion,
            counters: &self.counters,
            completed: self.completed.take(),
        };
        let progress = iteration.resume(event, &mut context);
        if let Some(why) = self.opinion.abort.take() {
            return Err(EngineError::Aborted(why));
        }
        for want in std::mem::take(&mut self.wants) {
            match want {
                Want::Timer(want, at) => self.wakes.push((want, at)),
                Want::More(request) => self.network.send_more(request, &mut self.operations),
                Want::Cut(request) => self.network.cut(request, &mut self.operations),
                Want::Request(operation) => self.network.submit(operation, &mut self.operations)?,
            }
        }
        Ok(progress)
    }
}
