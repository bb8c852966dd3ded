//! Iterations of scripts: each runs on a fiber, which is resumed when what it waits for has happened.

mod completed;
mod grpc;
mod single_call;
mod websocket;

use std::rc::Rc;

use engine::exchange::{OperationName, Response};
use engine::iteration::{Arrival, Context, Event, Iteration, Progress, Rejection, Verdict};
use evidence::Outcome;

use crate::js::fiber::{Fiber, Stacks};
use crate::js::{self, Exception, Kept, PromiseState, Scope, Thrown, Value};
use crate::loading::Group;
use crate::metrics::Builtin;
use crate::response_memory::ResponseMemory;
use crate::script::{Counted, Level, LogLine};
use crate::vu::{Ended, Operation, OperationSlot, Resumed, Stage, Vu, Wait, Waiter};
pub(crate) use single_call::{CallResult, Keeping, Outlet, SingleCall};

/// The longest name of a row, in bytes; further ones of the same beginning are the same row.
const LONGEST_NAME: usize = 4 << 10;

/// How many promise jobs are run of an iteration that is over; more of them only lead to further ones.
const MOST_LAST_JOBS: u32 = 1_000;

/// The iterations of one virtual user.
pub(crate) struct ScriptIteration {
    pub(crate) group: Rc<Group>,
    pub(crate) stacks: Rc<Stacks>,
    /// Before the context in this order: it is freed first.
    function: Rc<Function>,
    vu: Rc<Vu>,
    /// The place of its scenario. The virtual user may be in an earlier one, which is over when this one begins.
    place: usize,
    under_way: Option<UnderWay>,
}

/// A request that has ended.
struct Completion<'a> {
    name: OperationName,
    response: &'a Response,
    transport: Option<Outcome>,
    /// Frees what only refers to itself.
    collect: &'a dyn Fn(),
}

impl Completion<'_> {
    /// The memory for what the virtual user gets of it.
    fn memory<'a>(&'a self, vu: &'a Vu) -> ResponseMemory<'a> {
        ResponseMemory { budget: vu.shared.script.budget(), collect: self.collect }
    }
}

/// The name of the timer by which a function that is called once must have returned.
const DEADLINE: OperationName = OperationName::MAX;

/// The name of the timer that ends the rest of `minIterationDuration`.
const REST: OperationName = OperationName::MAX - 1;

/// What a virtual user calls.
struct Function {
    function: Kept,
    /// What it is called with.
    arguments: Vec<Kept>,
    context: Rc<js::Context>,
    /// None of iterations, whose results have no meaning, and whose exceptions go to the log.
    once: Option<SingleCall>,
}

struct UnderWay {
    fiber: Fiber<Resumed, Wait>,
    waits: Option<Wait>,
}

impl ScriptIteration {
    pub(crate) fn new(
        group: Rc<Group>,
        stacks: Rc<Stacks>,
        (vu, place): (Rc<Vu>, usize),
        callable: Callable,
    ) -> ScriptIteration {
        let Callable { context, function, arguments } = callable;
        let function = Rc::new(Function { function, arguments, context, once: None });
        ScriptIteration { group, stacks, function, vu, place, under_way: None }
    }

    /// The same, whose function is called once.
    pub(crate) fn once(mut self, call: SingleCall) -> ScriptIteration {
        if let Some(function) = Rc::get_mut(&mut self.function) {
            function.once = Some(call);
        }
        self
    }

    fn begin(&mut self, arrival: Arrival, context: &mut Context<'_>) -> Progress {
        let vu = &self.vu;
        if self.function.once.is_none() && vu.shared.script.requests().abort_message().is_some() {
            // The run ends at once: nothing more is begun.
            context.end_run();
            return Progress::WAITING;
        }
        vu.move_to(self.place);
        vu.in_scenario.set(arrival.number);
        vu.stage.set(Stage::Calling);
        vu.run_by(context.clock());
        vu.count(Counted::Begun);
        let stack = match self.stacks.take() {
            Ok(stack) => stack,
            Err(error) => return Progress::Abort(format!("no memory for the stack of a script: {error}")),
        };
        let (function, called) = (self.function.clone(), vu.clone());
        let fiber = Fiber::new(&self.group.runtime, stack, move |suspender, _| {
            called.enter(suspender);
            function.context.enter(|scope| function.call(scope, &called));
            called.leave();
        });
        vu.began.set(context.now());
        if let Some(once) = &self.function.once {
            context.timer(DEADLINE, context.now() + once.limit);
        }
        self.under_way = Some(UnderWay { fiber, waits: None });
        self.go_on(Verdict::Accepted, context)
    }

    /// Whether the fiber has what it waits for.
    fn is_ready(&self) -> bool {
        let Some(waits) = self.under_way.as_ref().and_then(|under_way| under_way.waits) else { return true };
        let operations = self.vu.operations.borrow();
        match waits {
            Wait::For(name) => operations.get(name).is_none_or(|slot| slot.ended.is_some()),
            Wait::ForOneOf(first, count) => {
                (first..first.wrapping_add(count)).any(|name| operations.has_ended(name))
            }
            Wait::Any => operations.has_ended_one() || operations.is_empty(),
            Wait::Turn => true,
        }
    }

    /// Resume the fiber as often as it has what it waits for, and pass on what it asks for.
    fn go_on(&mut self, verdict: Verdict, context: &mut Context<'_>) -> Progress {
        loop {
            let Some(under_way) = &mut self.under_way else { return Progress::Done(verdict) };
            *self.group.current.borrow_mut() = Some(self.vu.clone());
            under_way.waits = context.run_script(|| under_way.fiber.resume(Resumed::GoOn));
            *self.group.current.borrow_mut() = None;
            let waits = under_way.waits;
            if waits.is_none() {
                self.finish(context);
                return self.rest(verdict, context);
            }
            if let Err(reason) = completed::ask(&self.vu, context) {
                return Progress::Abort(reason);
            }
            if waits == Some(Wait::Turn) {
                return Progress::Yielding(verdict);
            }
            if !self.is_ready() {
                return Progress::Waiting(verdict);
            }
        }
    }

    /// An iteration that is over keeps its virtual user for as long as `minIterationDuration` says. As in k6 that is part of neither
    /// the iteration nor of what it took, and `setup` and `teardown` have no such rest.
    fn rest(&self, verdict: Verdict, context: &mut Context<'_>) -> Progress {
        let until = self.vu.began.get() + self.vu.shared.script.settings().least_iteration;
        if self.function.once.is_some() || until <= self.vu.time() {
            return Progress::Done(verdict);
        }
        context.timer(REST, until);
        Progress::Waiting(verdict)
    }

    /// It has taken as long as it may.
    fn time_out(&mut self) -> Progress {
        self.cancelled();
        self.function.put(CallResult::TimedOut);
        Progress::Abort("the time limit of a function that is called once".to_owned())
    }

    /// The iteration is over.
    fn finish(&mut self, context: &mut Context<'_>) {
        let vu = &self.vu;
        let Some(under_way) = self.under_way.take() else { return };
        under_way.fiber.recycle(&self.stacks);
        // `setup` and `teardown` are not iterations.
        if self.function.once.is_none() {
            let took = vu.time().since(vu.began.get()).as_secs_f64() * 1e3;
            vu.sample(Builtin::IterationDuration.into(), took, &Vec::new());
            vu.sample(Builtin::Iterations.into(), 1.0, &Vec::new());
        }
        if let Some(thrown) = vu.thrown.take() {
            context.iteration_threw(thrown.lines().next().unwrap_or_default());
        }
        completed::count(vu, context);
        grpc::close(vu, context);
        websocket::pass_on(vu, context);
        vu.count(Counted::Completed);
        if vu.shared.script.requests().abort_message().is_some() {
            context.end_run();
        }
        vu.iteration.set(vu.iteration.get() + 1);
    }
}

impl Iteration for ScriptIteration {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        self.vu.now.set(context.now());
        let verdict = match event {
            Event::Begin(arrival) => return self.begin(arrival, context),
            Event::Completed { name, response, transport } => {
                let collect = || self.group.runtime.collect();
                let completion = Completion { name, response, transport, collect: &collect };
                completed::request(&self.vu, context, &completion)
            }
            Event::Received { name, response, bytes } => {
                websocket::received(&self.vu, &websocket::ReceivedPart { name, response, bytes: *bytes })
            }
            Event::TimerFired(DEADLINE) => return self.time_out(),
            Event::TimerFired(REST) => return Progress::Done(Verdict::Accepted),
            Event::TimerFired(name) => {
                completed::timer(&self.vu, name, context);
                Verdict::Accepted
            }
            Event::TurnBegan => Verdict::Accepted,
        };
        if self.under_way.is_none() {
            return Progress::Waiting(verdict);
        }
        // A redirect is asked for without the script, and may have ended by that.
        if !self.is_ready()
            && let Err(reason) = completed::ask(&self.vu, context)
        {
            return Progress::Abort(reason);
        }
        if self.is_ready() { self.go_on(verdict, context) } else { Progress::Waiting(verdict) }
    }

    fn cancelled(&mut self) {
        let Some(mut under_way) = self.under_way.take() else { return };
        *self.group.current.borrow_mut() = Some(self.vu.clone());
        // What it throws cannot be caught; jobs that wait end in the same way.
        while !under_way.fiber.is_done() {
            under_way.fiber.resume(Resumed::Cancelled);
        }
        *self.group.current.borrow_mut() = None;
        under_way.fiber.recycle(&self.stacks);
        self.vu.count(Counted::Interrupted);
        *self.vu.asked.borrow_mut() = crate::vu::EngineRequests::default();
    }
}

impl Drop for ScriptIteration {
    fn drop(&mut self) {
        self.cancelled();
    }
}

/// A function of a script, with what it is called with.
pub(crate) struct Callable {
    pub(crate) context: Rc<js::Context>,
    pub(crate) function: Kept,
    pub(crate) arguments: Vec<Kept>,
}

impl Function {
    /// Call the function and do what follows from it; an exception is written to the log.
    fn call(&self, scope: Scope<'_>, vu: &Vu) {
        let called = match self.try_call(scope, vu) {
            Ok(value) => self.once.as_ref().map_or(CallResult::NotEnded, |once| once.keeping.kept(value)),
            Err(Failed::Thrown) => CallResult::Threw(scope.take_exception()),
            Err(Failed::Rejected(reason)) => {
                let Thrown = scope.throw_value(reason);
                let Exception { message, stack } = scope.take_exception();
                CallResult::Threw(Exception { message: format!("Uncaught (in promise) {message}"), stack })
            }
        };
        match called {
            called if self.once.is_some() => {
                let has_aborted = vu.shared.script.requests().abort_message().is_some();
                let is_interrupted = vu.is_cancelled() && !has_aborted;
                self.put(if is_interrupted { CallResult::NotEnded } else { called });
            }
            // Of a script that was cancelled the run itself reports it.
            CallResult::Threw(exception) if !vu.is_cancelled() => {
                *vu.thrown.borrow_mut() = Some(exception.message.clone());
                let fields =
                    vec![("executor", vu.scenario().name.clone()), ("source", "stacktrace".to_owned())];
                vu.log(LogLine { level: Level::Error, text: exception.in_full(), fields });
            }
            _ => {}
        }
        wind_down(scope, vu);
    }

    /// Put a result where it is waited for.
    fn put(&self, result: CallResult) {
        if let Some(once) = &self.once {
            once.put(result);
        }
    }

    fn try_call<'js>(&self, scope: Scope<'js>, vu: &Vu) -> Result<Value<'js>, Failed<'js>> {
        if vu.take_move() {
            crate::modules::set_env(scope)?;
        }
        scope.globals().set("__ITER", &scope.number(vu.iteration.get() as f64))?;
        let arguments: Vec<Value<'_>> = self.arguments.iter().map(|kept| scope.kept(kept)).collect();
        let result = scope.kept(&self.function).call(&scope.undefined(), &arguments)?;
        run_events(scope, vu)?;
        match result.promise_state() {
            PromiseState::Rejected(reason) => Err(Failed::Rejected(reason)),
            PromiseState::Fulfilled(value) => Ok(value),
            PromiseState::Pending => Ok(scope.undefined()),
            PromiseState::NoPromise => Ok(result),
        }
    }
}

/// Why a call of a script did not succeed.
enum Failed<'js> {
    Thrown,
    /// A promise was rejected for this reason, and nothing handles that.
    Rejected(Value<'js>),
}

impl From<Thrown> for Failed<'_> {
    fn from(_: Thrown) -> Self {
        Failed::Thrown
    }
}

/// Run promise jobs, and what follows from operations, until nothing is left.
fn run_events<'js>(scope: Scope<'js>, vu: &Vu) -> Result<(), Failed<'js>> {
    loop {
        while scope.run_job()? {}
        if let Some(reason) = scope.take_rejection() {
            return Err(Failed::Rejected(reason));
        }
        if vu.operations.borrow().is_empty() {
            return Ok(());
        }
        if !pass_on(scope, vu)? {
            vu.wait(scope, Wait::Any)?;
        }
    }
}

/// End what an iteration has left behind that threw or was cancelled: promise jobs, timers, and requests that it did not wait for.
fn wind_down(scope: Scope<'_>, vu: &Vu) {
    for _job in 0..MOST_LAST_JOBS {
        match scope.run_job() {
            Ok(false) => break,
            Ok(true) => {}
            Err(Thrown) => drop(scope.take_thrown()),
        }
    }
    websocket::give_up(vu);
    loop {
        let is_under_way = |slot: &OperationSlot| match &slot.operation {
            Operation::Timer(_) | Operation::SocketTimer(..) => false,
            Operation::WebSocket(socket) => !socket.session.borrow().is_over(),
            Operation::Http(_) | Operation::Grpc(_) => slot.ended.is_none(),
        };
        vu.operations.borrow_mut().retain(is_under_way);
        if vu.is_cancelled() || vu.operations.borrow().is_empty() {
            drop(scope.take_rejection());
            return;
        }
        // What is received of sessions is not seen any more.
        vu.operations.borrow_mut().quiet_sockets();
        if let Err(Thrown) = vu.wait(scope, Wait::Any) {
            drop(scope.take_thrown());
        }
    }
}

/// Pass one operation that has ended on to what waits for it; false where none has.
fn pass_on(scope: Scope<'_>, vu: &Vu) -> Result<bool, Thrown> {
    let ended = vu.operations.borrow_mut().take_ended();
    let Some((name, slot)) = ended else { return Ok(false) };
    match slot.waiter {
        Waiter::Fiber => {}
        Waiter::Callback(callback) if matches!(slot.operation, Operation::WebSocket(_)) => {
            let slot = OperationSlot { waiter: Waiter::Callback(callback), ..slot };
            crate::modules::show_socket(scope, name, slot)?;
        }
        Waiter::Callback(callback) => {
            let function = scope.kept(&callback.function);
            let arguments: Vec<Value<'_>> =
                callback.arguments.iter().map(|argument| scope.kept(argument)).collect();
            if let Operation::Timer(Some(every)) = slot.operation {
                let again = OperationSlot { waiter: Waiter::Callback(callback), ended: None, ..slot };
                vu.operations.borrow_mut().insert(name, again);
                vu.asked.borrow_mut().timers.push((name, vu.time() + every));
            }
            function.call(&scope.undefined(), &arguments)?;
        }
        Waiter::Promise(resolver) => {
            let received = match slot.ended {
                Some(Ended::Grpc(reply)) => crate::modules::grpc_response(scope, reply),
                ended => crate::modules::request_received(scope, ended),
            };
            match received {
                Ok(response) => resolver.fulfil(response)?,
                Err(Thrown) => resolver.reject(scope.take_thrown())?,
            }
        }
    }
    Ok(true)
}

/// As much of a name as a row of the report has.
fn shortened(name: &str) -> &str {
    &name[..name.floor_char_boundary(LONGEST_NAME)]
}

/// A verdict on a response that is not expected.
fn rejected(outcome: Outcome, reason: String) -> Verdict {
    Verdict::Rejected(Rejection { outcome, reason })
}
