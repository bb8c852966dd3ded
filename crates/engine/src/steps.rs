//! Steps of a plan as an iteration: choose the steps, render each request, judge each response.

mod cookies;
mod decoding;
mod judging;
mod redirect;
mod setup_pause;
mod shown;
mod streaming;

use std::sync::Arc;
use std::time::Duration;

use evidence::Instant;
use workload::draw::{Draw, mix};
use workload::message::EncodeError;

use crate::body_budget::BodyLease;
use crate::clock::Clock;
use crate::exchange::{OperationName, RequestDraft};
use crate::index::{EndpointIndex, ScenarioIndex};
use crate::iteration::{Arrival, Context, Event, Iteration, Progress, UserMaker, Verdict};
use crate::program::{
    Counters, FlowProgram, Program, RenderScope, ScenarioSteps, StepContent, StepProgram, write_hex,
};
use cookies::CookieJar;
use streaming::OpenCall;

/// The virtual users of one scenario of a plan.
#[derive(Debug)]
pub(crate) struct PlanUsers {
    program: Arc<Program>,
    scenario: ScenarioIndex,
}

impl PlanUsers {
    pub(crate) fn new(program: Arc<Program>, scenario: ScenarioIndex) -> Self {
        PlanUsers { program, scenario }
    }
}

impl Program {
    /// The endpoint that an arrival is counted for: the step drawn from a mix. None where arrivals are counted for the
    /// whole iteration, and of scripts.
    pub(crate) fn endpoint_of(&self, scenario: ScenarioIndex, arrival: u64) -> Option<EndpointIndex> {
        let flow = &self.steps.scenarios.get(scenario.0)?.flow;
        let (FlowProgram::Mix { steps, .. } | FlowProgram::InTurn { steps, .. }) = flow else { return None };
        let draw = Draw::new(self.shape.seed, scenario.0, arrival);
        Some(steps[drawn_step(flow, &draw)].endpoint)
    }
}

impl UserMaker for PlanUsers {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(PlanIteration::of_scenario(self.program.clone(), self.scenario))
    }

    fn endpoint_of(&self, arrival: u64) -> Option<EndpointIndex> {
        self.program.endpoint_of(self.scenario, arrival)
    }

    fn time_limit_of(&self, arrival: u64) -> Option<Duration> {
        let ScenarioSteps { setup, flow } = &self.program.steps.scenarios[self.scenario.0];
        let draw = Draw::new(self.program.shape.seed, self.scenario.0, arrival);
        let first = setup.first().unwrap_or_else(|| &flow.steps()[drawn_step(flow, &draw)]);
        Some(FirstThink::of(&self.program, self.scenario).time_limit(first, &draw))
    }
}

/// The step that an arrival begins with: drawn from a mix, the first of a sequence.
fn drawn_step(flow: &FlowProgram, draw: &Draw) -> usize {
    match flow {
        FlowProgram::Mix { cumulative, salt, .. } => draw.weighted(*salt, cumulative),
        FlowProgram::InTurn { step_indexes, .. } => {
            step_indexes[(draw.arrival() % step_indexes.len() as u64) as usize] as usize
        }
        FlowProgram::Sequence(_) => 0,
        FlowProgram::Single { only, .. } => *only,
    }
}

/// The part of the scenario that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScenarioPart {
    /// The steps that each virtual user sends once.
    Setup,
    /// The steps of the iteration itself.
    Main,
}

/// The place of a step in an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StepPlace {
    part: ScenarioPart,
    step: usize,
}

/// The iterations of one virtual user of a plan.
#[derive(Debug)]
pub(crate) struct PlanIteration {
    program: Arc<Program>,
    setup: Arc<[StepProgram]>,
    flow: FlowProgram,
    scenario: ScenarioIndex,
    first_think: FirstThink,
    is_set_up: bool,
    /// How often its setup has failed so far.
    failed_setups: u32,
    variables: Vec<Arc<[u8]>>,
    arrival: Arrival,
    draw: Draw,
    /// Draws the virtual user's own rows, in the setup steps.
    user_draw: Draw,
    part: ScenarioPart,
    step: usize,
    due: Instant,
    /// The run's epoch in nanoseconds since 1970.
    epoch_unix_ns: i128,
    /// The call under way, if it sends further messages or is to be cut short.
    open_call: Option<OpenCall>,
    /// How many redirects the request under way has followed.
    redirects: u32,
    /// The cookies that targets have set.
    cookies: CookieJar,
    /// Those that the setup was sent.
    setup_cookies: CookieJar,
    /// The step's own cookies, if the last header of the request under way has them and those of the target.
    joined_cookies: Option<Vec<u8>>,
    /// What its variables count against the run's budget.
    variables_lease: BodyLease,
    /// Counts open calls, so that a timer of an earlier call is recognised.
    calls: u32,
}

/// Whether a virtual user thinks before its first step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstThink {
    /// In an open model the schedule sets the pace.
    Skipped,
    /// In a closed model nothing else does.
    Kept,
}

impl FirstThink {
    fn of(program: &Program, scenario: ScenarioIndex) -> FirstThink {
        match program.scenario(scenario).executor.is_open() {
            true => FirstThink::Skipped,
            false => FirstThink::Kept,
        }
    }

    fn time(self, first: &StepProgram, draw: &Draw) -> Duration {
        match self {
            FirstThink::Skipped => Duration::ZERO,
            FirstThink::Kept => first.think.time(draw),
        }
    }

    /// How long after the due instant of an arrival that begins with this step its request has time.
    fn time_limit(self, first: &StepProgram, draw: &Draw) -> Duration {
        self.time(first, draw).saturating_add(first.timeout)
    }
}

/// The name of the timer that ends a think time.
const THINK_TIMER: OperationName = 0;
const NO_ARRIVAL: Arrival = Arrival { number: 0, due: Instant::EPOCH, virtual_user: 0, scenario_user: 0 };

impl PlanIteration {
    fn of_scenario(program: Arc<Program>, scenario: ScenarioIndex) -> Self {
        let steps = &program.steps.scenarios[scenario.0];
        let (setup, flow) = (steps.setup.clone(), steps.flow.clone());
        let first_think = FirstThink::of(&program, scenario);
        PlanIteration { first_think, ..Self::make(program, scenario, setup, flow) }
    }

    /// A flow once, without think time before its first step, beginning with these variables: for the run's
    /// setup and for dry runs.
    pub(crate) fn of_flow(
        program: Arc<Program>,
        scenario: ScenarioIndex,
        variables: Vec<Arc<[u8]>>,
        flow: FlowProgram,
    ) -> Self {
        PlanIteration { variables, ..Self::make(program, scenario, Arc::new([]), flow) }
    }

    fn make(
        program: Arc<Program>,
        scenario: ScenarioIndex,
        setup: Arc<[StepProgram]>,
        flow: FlowProgram,
    ) -> Self {
        PlanIteration {
            variables: program.steps.setup_variables.clone(),
            draw: Draw::new(program.shape.seed, scenario.0, 0),
            user_draw: Draw::new(program.shape.seed, scenario.0, 0),
            is_set_up: setup.is_empty(),
            failed_setups: 0,
            arrival: NO_ARRIVAL,
            part: ScenarioPart::Main,
            step: 0,
            due: Instant::EPOCH,
            epoch_unix_ns: 0,
            open_call: None,
            redirects: 0,
            cookies: CookieJar::default(),
            setup_cookies: CookieJar::default(),
            joined_cookies: None,
            variables_lease: BodyLease::new(&program.body_budget),
            calls: 0,
            program,
            setup,
            flow,
            scenario,
            first_think: FirstThink::Skipped,
        }
    }

    /// The values that were extracted so far.
    pub(crate) fn variables(&self) -> &[Arc<[u8]>] {
        &self.variables
    }

    fn current(&self) -> &StepProgram {
        match self.part {
            ScenarioPart::Setup => &self.setup[self.step],
            ScenarioPart::Main => &self.flow.steps()[self.step],
        }
    }

    /// The place of the step that it is at, and its name.
    pub(crate) fn step_under_way(&self) -> (StepPlace, &str) {
        let name = &self.program.endpoint(self.current().endpoint).name;
        (StepPlace { part: self.part, step: self.step }, name)
    }

    fn begin(&mut self, arrival: Arrival, context: &mut Context<'_>) -> Progress {
        self.arrival = arrival;
        self.draw = Draw::new(self.program.shape.seed, self.scenario.0, arrival.number);
        let user = u64::from(arrival.scenario_user);
        self.user_draw = Draw::new(self.program.shape.seed, self.scenario.0, user);
        self.due = arrival.due;
        if self.is_set_up {
            self.cookies.begin_iteration(&self.setup_cookies);
            self.enter_main()
        } else {
            self.enter(ScenarioPart::Setup, 0)
        }
        self.send_after(
            self.first_think.time(self.current(), &self.draw).saturating_add(self.setup_pause()),
            context,
        )
    }

    /// How long it waits before it tries its setup again. In an open model the schedule sets the pace.
    fn setup_pause(&self) -> Duration {
        match self.first_think {
            FirstThink::Kept if !self.is_set_up => setup_pause::pause(self.failed_setups, &self.user_draw),
            _ => Duration::ZERO,
        }
    }

    /// The request under way has failed, and the iteration is over.
    fn failed(&mut self, progress: Progress) -> Progress {
        if self.part == ScenarioPart::Setup {
            self.failed_setups = self.failed_setups.saturating_add(1);
        }
        progress
    }

    fn enter(&mut self, part: ScenarioPart, step: usize) {
        self.part = part;
        self.step = step;
    }

    fn enter_main(&mut self) {
        self.enter(ScenarioPart::Main, drawn_step(&self.flow, &self.draw));
    }

    /// Send the current step's request, after `think` if that is not zero.
    fn send_after(&mut self, think: Duration, context: &mut Context<'_>) -> Progress {
        if think.is_zero() {
            self.send(context);
        } else {
            self.due = self.due + think;
            context.timer(THINK_TIMER, self.due);
        }
        Progress::WAITING
    }

    fn send(&mut self, context: &mut Context<'_>) {
        self.redirects = 0;
        self.joined_cookies = self.draft(context);
        self.schedule_call(context);
    }

    /// Draft the current step's request. Returns the step's own cookies if its last header has those of the target too.
    fn draft(&self, context: &mut Context<'_>) -> Option<Vec<u8>> {
        let (now, clock, counters) = (context.now, context.clock, context.counters);
        let draft = context.request(0);
        let scope = self.scope(now, clock, counters);
        let step = self.current();
        draft.origin = step.origin;
        draft.endpoint = step.endpoint;
        draft.due = self.due;
        draft.deadline = self.due + step.timeout;
        draft.keep_body_bytes = step.keep_body_bytes;
        draft.constant = step.constant;
        for (name, text) in &step.headers {
            draft.headers.push_with(name, |out| text.render(&scope, out));
        }
        if self.program.steps.traceparent {
            self.trace(draft);
        }
        let filled = fill(&step.content, &scope, draft);
        let joined_cookies = self.add_cookies(draft, now);
        if let Err(error) = filled
            && let Some(request) = context.last_request()
        {
            context.fail(request, self.unsendable(error));
        }
        joined_cookies
    }

    /// A W3C `traceparent`. Its ids are functions of the run, scenario, arrival and step: runs with the same seed have
    /// other ones, because a store of traces keeps those of all runs.
    fn trace(&self, draft: &mut RequestDraft) {
        const TRACE_SALT: u64 = u64::MAX - 4096;
        let salt = TRACE_SALT + (self.step as u64 % 1024) * 2 + u64::from(self.part == ScenarioPart::Setup);
        let run = mix(self.epoch_unix_ns as u64);
        let mut trace = self.draw.uuid(salt);
        trace[..8].iter_mut().zip(run.to_be_bytes()).for_each(|(byte, own)| *byte ^= own);
        let parent = self.draw.uuid(salt + 2048);
        draft.headers.push_with(b"traceparent", |out| {
            out.extend_from_slice(b"00-");
            trace.iter().for_each(|byte| write_hex(*byte, out));
            out.push(b'-');
            parent[..8].iter().for_each(|byte| write_hex(*byte, out));
            out.extend_from_slice(b"-01");
        });
        draft.trace_id = Some(trace);
    }

    fn scope<'a>(&'a self, now: Instant, clock: Clock, counters: &'a Counters) -> RenderScope<'a> {
        RenderScope {
            names: &self.program.steps.names,
            draw: &self.draw,
            rows: if self.part == ScenarioPart::Setup { &self.user_draw } else { &self.draw },
            arrival: self.arrival.number,
            virtual_user: self.arrival.virtual_user,
            variables: &self.variables,
            counters,
            now,
            clock,
        }
    }

    /// Move past the step that has just succeeded.
    fn advance(&mut self, context: &mut Context<'_>) -> Progress {
        self.due = context.now;
        let next = self.step + 1;
        match self.part {
            ScenarioPart::Setup if next < self.setup.len() => self.enter(ScenarioPart::Setup, next),
            ScenarioPart::Setup => {
                self.is_set_up = true;
                self.setup_cookies = self.cookies.clone();
                self.enter_main();
            }
            ScenarioPart::Main => match &self.flow {
                FlowProgram::Sequence(steps) if next < steps.len() => self.enter(ScenarioPart::Main, next),
                _ => return Progress::DONE,
            },
        }
        self.send_after(self.current().think.time(&self.draw), context)
    }
}

impl Iteration for PlanIteration {
    fn time_limit_of(&self, arrival: u64) -> Option<Duration> {
        let draw = Draw::new(self.program.shape.seed, self.scenario.0, arrival);
        let main = || &self.flow.steps()[drawn_step(&self.flow, &draw)];
        let first = self.setup.first().filter(|_| !self.is_set_up).unwrap_or_else(main);
        Some(self.first_think.time_limit(first, &draw).saturating_add(self.setup_pause()))
    }

    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        match event {
            Event::Begin(arrival) => {
                self.epoch_unix_ns = context.epoch_unix_ns();
                self.begin(arrival, context)
            }
            Event::TimerFired(THINK_TIMER) => {
                self.send(context);
                Progress::WAITING
            }
            Event::TimerFired(timer) => {
                self.call_timer_fired(timer, context);
                Progress::WAITING
            }
            // Steps never yield.
            Event::TurnBegan | Event::Received { .. } => Progress::WAITING,
            Event::Completed { transport: Some(_), .. } => {
                self.open_call = None;
                self.failed(Progress::DONE)
            }
            Event::Completed { response, .. } => {
                self.open_call = None;
                self.store_cookies(response, context);
                match self.follow_redirect(response, context) {
                    Some(progress @ Progress::Done(_)) => return self.failed(progress),
                    Some(progress) => return progress,
                    None => {}
                }
                match self.accept(response, context) {
                    Ok(()) => self.advance(context),
                    Err(rejection) => self.failed(Progress::Done(Verdict::Rejected(rejection))),
                }
            }
        }
    }
}

fn fill(content: &StepContent, scope: &RenderScope<'_>, draft: &mut RequestDraft) -> Result<(), EncodeError> {
    match content {
        StepContent::Http(request) => {
            request.draft(scope, draft);
            Ok(())
        }
        StepContent::Grpc(call) => call.draft(scope, draft),
    }
}
