//! What native functions know of the virtual user that calls them, and how they ask the engine for something.
//!
//! A script never reaches the engine itself: it leaves what it asks for in [`EngineRequests`], suspends its fiber, and its iteration passes
//! that on.

mod operations;
mod tagging;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use engine::Clock;
use engine::exchange::{CheckResult, OperationName};
use evidence::Instant;

use crate::added_values::AddedValue;
use crate::grpc::GrpcConnection;
use crate::http::KnownUrls;
use crate::js::fiber::Suspender;
use crate::js::{Kept, Scope, Thrown};
use crate::metrics::{Builtin, CheckId, GroupId, GroupPath, MetricId, Registry, SamplePlace, SeriesId, Tags};
use crate::options::ScenarioShape;
use crate::script::{CookieLife, Counted, LogLine, LogSink, Script};
use crate::websocket::WebSocket;

pub(crate) use operations::{Callback, Ended, Operation, OperationSlot, Operations, Waiter};

/// The name of the first operation of an iteration. Scripts see the names of timers, which count as true in a condition.
const FIRST_OPERATION: OperationName = 1;

/// What a virtual user does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It evaluates the script's modules.
    Init,
    /// It calls a function of the script.
    Calling,
}

/// Why a fiber goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resumed {
    /// What it waited for has happened.
    GoOn,
    /// Its iteration was cancelled.
    Cancelled,
}

/// What a suspended fiber waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The end of one operation.
    For(OperationName),
    /// The end of one of so many operations, numbered from the first one.
    ForOneOf(OperationName, u32),
    /// The end of any operation.
    Any,
    /// The next turn of the loop.
    Turn,
}

/// What a script asks the engine for.
#[derive(Debug, Default)]
pub(crate) struct EngineRequests {
    /// Requests to be sent.
    pub(crate) requests: Vec<OperationName>,
    /// gRPC connections to be closed.
    pub(crate) closed: Vec<Rc<GrpcConnection>>,
    /// Sessions of WebSocket that have something to send, or are to be closed.
    pub(crate) sockets: Vec<Rc<WebSocket>>,
    pub(crate) timers: Vec<(OperationName, Instant)>,
    /// Timers, of these or earlier ones, that are not to fire.
    pub(crate) cancelled: Vec<OperationName>,
    pub(crate) samples: Vec<(SeriesId, f64)>,
    /// The same with all tags, where an output asks for them.
    pub(crate) values: Vec<AddedValue>,
    pub(crate) checks: Vec<(CheckId, CheckResult)>,
}

/// What all virtual users of a loop share.
#[derive(Clone)]
pub(crate) struct LoopShared {
    pub(crate) script: Script,
    pub(crate) registry: Rc<RefCell<Registry>>,
    pub(crate) urls: Rc<RefCell<KnownUrls>>,
    pub(crate) log: LogSink,
    /// All scenarios of the loop.
    pub(crate) scenarios: Rc<[ScenarioFacts]>,
}

/// What does not change while a virtual user is in a scenario.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScenarioFacts {
    pub(crate) name: String,
    /// The function that it calls.
    pub(crate) exec: String,
    /// Its `env`, over that of the script.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) tags: BTreeMap<String, String>,
    /// The path of the group that it begins in.
    pub(crate) group: String,
    /// Its load; none of `setup` and `teardown`.
    pub(crate) shape: Option<ScenarioShape>,
}

impl ScenarioFacts {
    /// The executor as options name it; empty where there is none.
    pub(crate) fn executor_name(&self) -> &'static str {
        self.shape.as_ref().map_or("", |shape| shape.executor_name())
    }

    /// Its start, from the start of the run.
    pub(crate) fn start(&self) -> Duration {
        self.shape.as_ref().map_or(Duration::ZERO, |shape| shape.start)
    }

    /// How much of it is over, from 0 to 1: of its iterations where their number ends it, else of its time.
    pub(crate) fn progress(&self, now: Instant, iteration: u64) -> f64 {
        let Some(shape) = &self.shape else { return 0.0 };
        let (done, all) = match shape.executor.iterations() {
            Some(all) => (iteration as f64, all as f64),
            None => {
                let passed = now.since(Instant::EPOCH + shape.start);
                (passed.as_secs_f64(), shape.executor.duration().as_secs_f64())
            }
        };
        if all > 0.0 { (done / all).min(1.0) } else { 1.0 }
    }
}

/// A virtual user.
pub(crate) struct Vu {
    pub(crate) shared: LoopShared,
    /// The place of its scenario among those of the loop.
    place: Cell<usize>,
    /// Whether it has come into another scenario since its script ran last.
    has_moved: Cell<bool>,
    pub(crate) stage: Cell<Stage>,
    /// `__VU`; 0 while options are read.
    pub(crate) number: Cell<u32>,
    /// `__ITER`.
    pub(crate) iteration: Cell<u64>,
    /// How many of them were in earlier scenarios.
    before_scenario: Cell<u64>,
    /// Its iterations in its scenario, over all virtual users.
    pub(crate) in_scenario: Cell<u64>,
    /// When its iteration began.
    pub(crate) began: Cell<Instant>,
    /// When it was last resumed.
    pub(crate) now: Cell<Instant>,
    /// The run's; none where nothing runs.
    clock: Cell<Option<Clock>>,
    /// The start of the run, in milliseconds since 1970.
    pub(crate) epoch_unix_ms: Cell<f64>,
    pub(crate) asked: RefCell<EngineRequests>,
    pub(crate) operations: RefCell<Operations>,
    next_operation: Cell<OperationName>,
    /// The group that it is in.
    pub(crate) group: RefCell<GroupPath>,
    /// The one that it begins in.
    first_group: RefCell<GroupPath>,
    /// Tags that the script has set for its virtual user.
    pub(crate) own_tags: RefCell<BTreeMap<String, String>>,
    pub(crate) http: crate::http::HttpState,
    /// The objects `module` of CommonJS modules, by full name, while the script is evaluated.
    pub(crate) commonjs: RefCell<BTreeMap<String, Kept>>,
    suspender: RefCell<Option<Suspender<Resumed, Wait>>>,
    /// Whether its iteration was cancelled: it ends as soon as it can.
    is_cancelled: Cell<bool>,
    /// What its iteration has thrown.
    pub(crate) thrown: RefCell<Option<String>>,
}

impl Vu {
    /// A virtual user in the scenario at this place.
    pub(crate) fn new(shared: LoopShared, place: usize) -> Vu {
        let first_group = shared.registry.borrow_mut().group(place, &shared.scenarios[place].group);
        Vu {
            shared,
            place: Cell::new(place),
            has_moved: Cell::new(false),
            stage: Cell::new(Stage::Init),
            number: Cell::new(0),
            iteration: Cell::new(0),
            before_scenario: Cell::new(0),
            in_scenario: Cell::new(0),
            began: Cell::new(Instant::EPOCH),
            now: Cell::new(Instant::EPOCH),
            clock: Cell::new(None),
            epoch_unix_ms: Cell::new(0.0),
            asked: RefCell::default(),
            operations: RefCell::default(),
            next_operation: Cell::new(FIRST_OPERATION),
            group: RefCell::new(first_group.clone()),
            first_group: RefCell::new(first_group),
            own_tags: RefCell::default(),
            http: crate::http::HttpState::default(),
            commonjs: RefCell::default(),
            suspender: RefCell::default(),
            is_cancelled: Cell::new(false),
            thrown: RefCell::default(),
        }
    }

    /// Its scenario.
    pub(crate) fn scenario(&self) -> &ScenarioFacts {
        &self.shared.scenarios[self.place.get()]
    }

    /// From now on it is in the scenario at this place. It keeps what its script has, and loses the tags of its own.
    pub(crate) fn move_to(&self, place: usize) {
        if self.place.replace(place) == place {
            return;
        }
        self.has_moved.set(true);
        self.before_scenario.set(self.iteration.get());
        self.own_tags.borrow_mut().clear();
        let first = self.shared.registry.borrow_mut().group(place, &self.scenario().group);
        *self.group.borrow_mut() = first.clone();
        *self.first_group.borrow_mut() = first;
    }

    /// Whether it has come into another scenario since this was asked last.
    pub(crate) fn take_move(&self) -> bool {
        self.has_moved.take()
    }

    /// The number of its iteration in its scenario.
    pub(crate) fn own_iteration(&self) -> u64 {
        self.iteration.get() - self.before_scenario.get()
    }

    /// The group of this path in its scenario.
    pub(crate) fn group_at(&self, path: &str) -> GroupPath {
        self.shared.registry.borrow_mut().group(self.place.get(), path)
    }

    /// Its number in the whole test, of which this instance may run a part; 0 in `setup` and `teardown`.
    pub(crate) fn number_in_test(&self) -> u64 {
        let number = u64::from(self.number.get());
        match &self.scenario().shape {
            Some(shape) if number > 0 => shape.numbering.users.nth(number - 1) + 1,
            _ => number,
        }
    }

    /// The number of its iteration in the scenario of the whole test.
    pub(crate) fn iteration_in_test(&self) -> u64 {
        let number = self.in_scenario.get();
        self.scenario().shape.as_ref().map_or(number, |shape| shape.numbering.iterations.nth(number))
    }

    /// From now on it runs by this clock.
    pub(crate) fn run_by(&self, clock: Clock) {
        self.clock.set(Some(clock));
        self.epoch_unix_ms.set((clock.epoch_unix_ns() / 1_000_000) as f64);
    }

    /// The time now: when it was resumed, and what its script has taken since then.
    pub(crate) fn time(&self) -> Instant {
        self.clock.get().map_or(self.now.get(), |clock| clock.now())
    }

    /// The virtual user of a context.
    pub(crate) fn of(scope: Scope<'_>) -> &Vu {
        scope.data::<Rc<Vu>>().expect("contexts of scripts are made with their virtual user")
    }

    /// Begin an iteration on this fiber.
    pub(crate) fn enter(&self, suspender: &Suspender<Resumed, Wait>) {
        self.is_cancelled.set(false);
        self.thrown.take();
        if self.shared.script.settings().http.cookies == CookieLife::Iteration {
            self.http.jar.take();
        }
        *self.suspender.borrow_mut() = Some(suspender.clone());
        if self.group.borrow().id != self.first_group.borrow().id {
            *self.group.borrow_mut() = self.first_group.borrow().clone();
        }
    }

    /// The iteration is over.
    pub(crate) fn leave(&self) {
        *self.suspender.borrow_mut() = None;
        self.operations.borrow_mut().clear();
        self.next_operation.set(FIRST_OPERATION);
    }

    /// Now, in milliseconds since 1970.
    pub(crate) fn unix_ms(&self) -> f64 {
        self.epoch_unix_ms.get() + self.now.get().since(Instant::EPOCH).as_secs_f64() * 1e3
    }

    /// Note an operation, which is named by what is returned.
    pub(crate) fn begin(&self, operation: Operation, waiter: Waiter) -> OperationName {
        let name = self.next_operation.get();
        self.next_operation.set(name.wrapping_add(1));
        self.operations.borrow_mut().insert(name, OperationSlot { operation, waiter, ended: None });
        name
    }

    /// Ask to be resumed after this time.
    pub(crate) fn begin_timer(&self, after: Duration, waiter: Waiter) -> OperationName {
        let name = self.begin(Operation::Timer(None), waiter);
        self.asked.borrow_mut().timers.push((name, self.time() + after));
        name
    }

    /// Ask that the script sees after this time that a timer of the session of this name has fired.
    pub(crate) fn begin_socket_timer(
        &self,
        after: Duration,
        (socket, session): (Rc<WebSocket>, OperationName),
    ) -> OperationName {
        let name = self.begin(Operation::SocketTimer(socket, session), Waiter::Fiber);
        self.asked.borrow_mut().timers.push((name, self.time() + after));
        name
    }

    /// Ask to call a function again and again, with this time between.
    pub(crate) fn begin_interval(&self, every: Duration, callback: Callback) -> OperationName {
        let name = self.begin(Operation::Timer(Some(every)), Waiter::Callback(callback));
        self.asked.borrow_mut().timers.push((name, self.time() + every));
        name
    }

    /// A timer is not to fire.
    pub(crate) fn cancel_timer(&self, name: OperationName) {
        self.operations.borrow_mut().remove(name);
        let asked = &mut *self.asked.borrow_mut();
        if asked.timers.pop_if(|(last, _)| *last == name).is_none() {
            asked.cancelled.push(name);
        }
    }

    /// How an operation ended, once; none where it is under way.
    pub(crate) fn take_ended(&self, name: OperationName) -> Option<Ended> {
        let mut operations = self.operations.borrow_mut();
        let ended = operations.get_mut(name)?.ended.take()?;
        operations.remove(name);
        Some(ended)
    }

    /// Suspend the script until this has happened.
    ///
    /// # Errors
    /// What ends the script when its iteration was cancelled; or that nothing can be waited for now.
    pub(crate) fn wait(&self, scope: Scope<'_>, wait: Wait) -> Result<(), Thrown> {
        let suspender = self.suspender.borrow().clone();
        let Some(suspender) = suspender else {
            return Err(scope.throw("this cannot be called in the init context"));
        };
        if self.is_cancelled.get() || suspender.suspend(wait) == Resumed::Cancelled {
            self.is_cancelled.set(true);
            return Err(scope.throw_uncatchable("the iteration was interrupted"));
        }
        Ok(())
    }

    /// Do `then`, which needs more stack than a fiber has.
    pub(crate) fn on_thread_stack<R>(&self, then: impl FnOnce() -> R + Send) -> R {
        match self.suspender.borrow().clone() {
            Some(suspender) => suspender.on_thread_stack(then),
            None => then(),
        }
    }

    /// The script has run for a while: let others do what is due. False where its iteration was cancelled.
    pub(crate) fn yield_turn(&self) -> bool {
        let suspender = self.suspender.borrow().clone();
        let Some(suspender) = suspender else { return true };
        if self.is_cancelled.get() || suspender.suspend(Wait::Turn) == Resumed::Cancelled {
            self.is_cancelled.set(true);
            return false;
        }
        true
    }

    /// Add a value to a metric.
    pub(crate) fn sample(&self, metric: MetricId, value: f64, tags: &dyn Tags) {
        self.add(self.place(), &[(metric, value)], tags);
    }

    /// Add values with the same tags to several metrics.
    pub(crate) fn samples(&self, values: &[(Builtin, f64)], tags: &dyn Tags) {
        self.add(self.place(), values, tags);
    }

    /// The same of what was begun in this group.
    pub(crate) fn samples_in(&self, group: GroupId, values: &[(Builtin, f64)], tags: &dyn Tags) {
        self.add(SamplePlace { group, check: None }, values, tags);
    }

    fn place(&self) -> SamplePlace {
        SamplePlace { group: self.group.borrow().id, check: None }
    }

    /// Add the result of a check.
    pub(crate) fn checked(&self, name: &str, result: CheckResult, tags: &dyn Tags) {
        let group = self.group.borrow().id;
        let check = self.shared.registry.borrow_mut().check(group, name);
        let place = SamplePlace { group, check: Some(check) };
        let value = if result == CheckResult::Passed { 1.0 } else { 0.0 };
        self.add(place, &[(Builtin::Checks, value)], tags);
        self.asked.borrow_mut().checks.push((check, result));
    }

    /// Add values with the same tags in one place.
    fn add<M: Into<MetricId> + Copy>(&self, place: SamplePlace, values: &[(M, f64)], own: &dyn Tags) {
        let tagged = Tagged { vu: self, own };
        let output = self.shared.script.value_output();
        let registry = &mut *self.shared.registry.borrow_mut();
        let asked = &mut *self.asked.borrow_mut();
        for (metric, value) in values {
            let metric = (*metric).into();
            asked.samples.push((registry.series_of(metric, place, &tagged), *value));
            if let Some(output) = output {
                let added = output.value(registry.name(metric), (*value, &tagged), asked.values.last());
                asked.values.push(added);
            }
        }
    }

    /// From now on its iteration waits for nothing, and ends as soon as it can.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.set(true);
    }

    /// Count this of the virtual users of scenarios.
    pub(crate) fn count(&self, counted: Counted) {
        if self.number.get() > 0 {
            self.shared.script.counts().add(counted);
        }
    }

    /// Whether its iteration was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.get()
    }

    /// Write a line to the log.
    pub(crate) fn log(&self, line: LogLine) {
        (self.shared.log)(line);
    }
}

/// The tags of a value of a virtual user: its own, then those of the virtual user, its scenario and the script.
pub(crate) struct Tagged<'a> {
    pub(crate) vu: &'a Vu,
    pub(crate) own: &'a dyn Tags,
}

impl Tags for Tagged<'_> {
    fn tag(&self, name: &str) -> Option<Cow<'_, str>> {
        if let Some(own) = self.own.tag(name) {
            return Some(own);
        }
        let owned = |text: &String| Cow::Owned(text.clone());
        if let Some(own) = self.vu.own_tags.borrow().get(name) {
            return Some(owned(own));
        }
        match name {
            "group" => Some(Cow::Owned(self.vu.group.borrow().text.to_string())),
            "scenario" => Some(Cow::Borrowed(self.vu.scenario().name.as_str())),
            "vu" => Some(Cow::Owned(self.vu.number.get().to_string())),
            "iter" => Some(Cow::Owned(self.vu.iteration.get().to_string())),
            _ => {
                let of_script =
                    || self.vu.shared.script.tags().get(name).map(|text| Cow::Borrowed(text.as_str()));
                self.vu.scenario().tags.get(name).map(|text| Cow::Borrowed(text.as_str())).or_else(of_script)
            }
        }
    }

    fn given(&self) -> &[(String, String)] {
        self.own.given()
    }
}

/// Tags that a script gives with one value.
impl Tags for Vec<(String, String)> {
    fn tag(&self, name: &str) -> Option<Cow<'_, str>> {
        self.iter().find(|(known, _)| known == name).map(|(_, value)| Cow::Borrowed(value.as_str()))
    }

    fn given(&self) -> &[(String, String)] {
        self
    }
}
