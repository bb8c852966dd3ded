//! Steps of a plan as an iteration: draw or walk the steps, render each request, judge each response.

mod cookies;
mod decoded;
mod redirect;
mod streaming;

use std::sync::Arc;
use std::time::Duration;

use evidence::{Instant, Outcome};
use wire::grpc::Framed;
use workload::draw::Draw;

use crate::iteration::{Arrival, Behaviour, Context, Event, Iteration, Progress, WantId};
use crate::operation::{Draft, Response};
use crate::program::{Content, Counters, FlowProgram, JsonBody, Program, Scope, StepProgram, write_hex};
use cookies::Jar;
use decoded::decoded;
use streaming::OpenCall;

/// The steps of one scenario, as a behaviour of its virtual users.
#[derive(Debug)]
pub(crate) struct PlanBehaviour {
    program: Arc<Program>,
    scenario: usize,
}

impl PlanBehaviour {
    pub(crate) fn new(program: Arc<Program>, scenario: usize) -> Self {
        PlanBehaviour { program, scenario }
    }
}

impl Behaviour for PlanBehaviour {
    fn virtual_user(&self) -> Box<dyn Iteration> {
        Box::new(PlanIteration::of_scenario(self.program.clone(), self.scenario))
    }

    fn endpoint_of(&self, arrival: u64) -> Option<usize> {
        let flow = &self.program.scenarios[self.scenario].flow;
        let (FlowProgram::Mix { steps, .. } | FlowProgram::InTurn { steps, .. }) = flow else { return None };
        let draw = Draw::new(self.program.seed, self.scenario, arrival);
        Some(steps[drawn_step(flow, &draw)].endpoint)
    }
}

/// Which step of a mix an arrival draws; a sequence begins with its first.
fn drawn_step(flow: &FlowProgram, draw: &Draw) -> usize {
    match flow {
        FlowProgram::Mix { cumulative, salt, .. } => draw.weighted(*salt, cumulative),
        FlowProgram::InTurn { places, .. } => {
            places[(draw.arrival() % places.len() as u64) as usize] as usize
        }
        FlowProgram::Sequence(_) => 0,
        FlowProgram::Single { only, .. } => *only,
    }
}

/// Where an iteration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// In the steps that each virtual user makes once.
    Setup,
    /// In the steps of the iteration itself.
    Main,
}

/// The iterations of one virtual user of a plan.
#[derive(Debug)]
pub(crate) struct PlanIteration {
    program: Arc<Program>,
    setup: Arc<[StepProgram]>,
    flow: FlowProgram,
    scenario: usize,
    is_open_model: bool,
    is_set_up: bool,
    variables: Vec<Vec<u8>>,
    arrival: Arrival,
    draw: Draw,
    /// Draws the virtual user's own rows, in the steps it makes once.
    user_draw: Draw,
    part: Part,
    step: usize,
    due: Instant,
    /// The call under way, if it has more to send or is to be ended.
    open: Option<OpenCall>,
    /// How many redirects the request under way has followed.
    hops: u32,
    /// The cookies that targets have set.
    jar: Jar,
    /// Counts such calls, so that no timer is taken for another call's.
    calls: u32,
}

/// The timer that ends a think time.
const THOUGHT: WantId = 0;
const NO_ARRIVAL: Arrival = Arrival { number: 0, due: Instant::EPOCH, virtual_user: 0 };

impl PlanIteration {
    fn of_scenario(program: Arc<Program>, scenario: usize) -> Self {
        let described = &program.scenarios[scenario];
        let (setup, flow) = (described.setup.clone(), described.flow.clone());
        let is_open_model = described.executor.is_open();
        Self::make(program, (scenario, is_open_model), setup, flow)
    }

    /// A flow once, without think time before its first step, beginning with these variables: for the run's
    /// setup and for rehearsals.
    pub(crate) fn of_flow(
        program: Arc<Program>,
        (scenario, variables): (usize, Vec<Vec<u8>>),
        flow: FlowProgram,
    ) -> Self {
        let mut iteration = Self::make(program, (scenario, true), Arc::new([]), flow);
        iteration.variables = variables;
        iteration
    }

    fn make(
        program: Arc<Program>,
        (scenario, is_open_model): (usize, bool),
        setup: Arc<[StepProgram]>,
        flow: FlowProgram,
    ) -> Self {
        PlanIteration {
            variables: program.shared.clone(),
            draw: Draw::new(program.seed, scenario, 0),
            user_draw: Draw::new(program.seed, scenario, 0),
            is_set_up: setup.is_empty(),
            arrival: NO_ARRIVAL,
            part: Part::Main,
            step: 0,
            due: Instant::EPOCH,
            open: None,
            hops: 0,
            jar: Jar::default(),
            calls: 0,
            program,
            setup,
            flow,
            scenario,
            is_open_model,
        }
    }

    /// What has been extracted so far.
    pub(crate) fn into_variables(self) -> Vec<Vec<u8>> {
        self.variables
    }

    fn current(&self) -> &StepProgram {
        match self.part {
            Part::Setup => &self.setup[self.step],
            Part::Main => &self.flow.steps()[self.step],
        }
    }

    fn begin(&mut self, arrival: Arrival, context: &mut Context<'_>) -> Progress {
        self.arrival = arrival;
        self.draw = Draw::new(self.program.seed, self.scenario, arrival.number);
        let own_number = u64::from(arrival.virtual_user.saturating_sub(1));
        self.user_draw = Draw::new(self.program.seed, self.scenario, own_number);
        self.due = arrival.due;
        if self.is_set_up {
            self.enter_main()
        } else {
            self.enter(Part::Setup, 0)
        }
        // In a closed model a virtual user thinks before its first step too: nothing else paces it.
        let think = if self.is_open_model { Duration::ZERO } else { self.current().think };
        self.ask(think, context)
    }

    fn enter(&mut self, part: Part, step: usize) {
        self.part = part;
        self.step = step;
    }

    fn enter_main(&mut self) {
        self.enter(Part::Main, drawn_step(&self.flow, &self.draw));
    }

    /// Want the current step's request, after `think` if that is not zero.
    fn ask(&mut self, think: Duration, context: &mut Context<'_>) -> Progress {
        if think.is_zero() {
            self.send(context);
        } else {
            self.due = self.due + think;
            context.timer(THOUGHT, self.due);
        }
        Progress::Waiting
    }

    fn send(&mut self, context: &mut Context<'_>) {
        self.hops = 0;
        self.draft(context);
        self.open_call(context);
    }

    fn draft(&self, context: &mut Context<'_>) {
        let (now, counters) = (context.now, context.counters);
        let draft = context.request(0);
        let scope = self.scope(now, counters);
        let step = self.current();
        draft.origin = step.origin;
        draft.endpoint = step.endpoint;
        draft.due = self.due;
        draft.deadline = self.due + step.timeout;
        draft.keep_body_bytes = step.keep_body_bytes;
        for (name, text) in &step.headers {
            draft.headers.push_with(name, |out| text.render(&scope, out));
        }
        if self.program.traceparent {
            self.trace(draft);
        }
        let filled = fill(&step.content, &scope, draft);
        self.jar_out(draft, now);
        if let Err(what) = filled {
            let endpoint = &self.program.endpoints[step.endpoint].name;
            context.abort(&format!("step `{endpoint}` cannot be sent: {what}"));
        }
    }

    /// A W3C `traceparent` whose trace id is a function of seed, scenario, arrival and step.
    fn trace(&self, draft: &mut Draft) {
        const TRACE_SALT: u64 = u64::MAX - 4096;
        let salt = TRACE_SALT + (self.step as u64 % 1024) * 2 + u64::from(self.part == Part::Setup);
        let trace = self.draw.uuid(salt);
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

    fn scope<'a>(&'a self, now: Instant, counters: &'a Counters) -> Scope<'a> {
        Scope {
            names: &self.program.names,
            draw: &self.draw,
            rows: if self.part == Part::Setup { &self.user_draw } else { &self.draw },
            arrival: self.arrival.number,
            virtual_user: self.arrival.virtual_user,
            variables: &self.variables,
            counters,
            now,
            epoch_unix_ns: self.program.epoch_unix_ns,
        }
    }

    /// Judge the response to the current step and take out of it what later steps need. False when the
    /// step failed, which ends the iteration.
    fn accept(&mut self, response: &Response, context: &mut Context<'_>) -> bool {
        let plain = decoded(self.current(), response);
        if let Some(Err(why)) = &plain
            && self.current().expectation.status.accepts(response)
        {
            context.set_outcome(Outcome::Protocol);
            context.set_detail(&format!("the body cannot be read: {why}"));
            return false;
        }
        let response = plain.as_ref().and_then(|plain| plain.as_ref().ok()).unwrap_or(response);
        let content = &self.current().content;
        let decode = || decode(content, response);
        let body = match content {
            Content::Http(_) => JsonBody::text(response),
            Content::Grpc(_) => JsonBody::decoded(response, &decode),
        };
        let scope = self.scope(context.now, context.counters);
        let opinion = &mut *context.opinion;
        let mut note = |check, held| opinion.checks.push((check, held));
        let verdict = self.current().expectation.judge(response, (&scope, &body), &mut note);
        if let Some(outcome) = verdict.outcome {
            context.set_outcome(outcome);
            context.set_detail(&verdict.detail);
            return false;
        }
        let taken: Result<Vec<_>, String> =
            self.current().extractions.iter().map(|e| Ok((e.variable, e.take(response, &body)?))).collect();
        match taken {
            Ok(values) => {
                for (variable, value) in values {
                    self.variables[variable] = value;
                }
                true
            }
            Err(missing) => {
                context.set_outcome(Outcome::Check);
                context.set_detail(&missing);
                false
            }
        }
    }

    /// Move past the step that has just succeeded.
    fn advance(&mut self, context: &mut Context<'_>) -> Progress {
        self.due = context.now;
        let next = self.step + 1;
        match self.part {
            Part::Setup if next < self.setup.len() => self.enter(Part::Setup, next),
            Part::Setup => {
                self.is_set_up = true;
                self.enter_main();
            }
            Part::Main => match &self.flow {
                FlowProgram::Sequence(steps) if next < steps.len() => self.enter(Part::Main, next),
                _ => return Progress::Done,
            },
        }
        self.ask(self.current().think, context)
    }
}

impl Iteration for PlanIteration {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        match event {
            Event::Begin(arrival) => self.begin(arrival, context),
            Event::Fired(THOUGHT) => {
                self.send(context);
                Progress::Waiting
            }
            Event::Fired(timer) => {
                self.go_on(timer, context);
                Progress::Waiting
            }
            Event::Completed { transport: Some(_), .. } => {
                self.open = None;
                Progress::Done
            }
            Event::Completed { response, .. } => {
                self.open = None;
                self.jar_in(response, context);
                if let Some(progress) = self.redirected(response, context) {
                    return progress;
                }
                if self.accept(response, context) { self.advance(context) } else { Progress::Done }
            }
        }
    }
}

fn fill(content: &Content, scope: &Scope<'_>, draft: &mut Draft) -> Result<(), String> {
    match content {
        Content::Http(request) => {
            request.draft(scope, draft);
            Ok(())
        }
        Content::Grpc(call) => call.draft(scope, draft),
    }
}

/// A gRPC response's message, the last of a stream, as JSON.
fn decode(content: &Content, response: &Response) -> Result<serde_json::Value, String> {
    let Content::Grpc(call) = content else { return Err("it is no gRPC message".to_owned()) };
    let framed = Framed::single(&response.body).map_err(|e| e.to_string())?;
    let message = decoded::message(framed, response)?;
    call.method.decode_to_json(&message).map_err(|e| e.to_string())
}
