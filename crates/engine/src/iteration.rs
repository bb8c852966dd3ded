//! What a virtual user does for one arrival, as a state machine that the loop drives.
//!
//! The loop resumes an iteration with an [`Event`]. Through its [`Context`] the iteration asks for what it needs
//! next: zero or more requests and timers, all of which may be in flight at once. It returns its [`Progress`]: what
//! became of the response, and what comes next. Steps of a plan are one implementation; scripts will be another. An
//! iteration never uses a socket, and a clock only to know how long its own work took.

use std::time::Duration;

use evidence::metric::{MetricHandle, MetricKind};
use evidence::{Instant, Name, Outcome};
use wire::RequestBytes;
use workload::TlsFiles;
use workload::schedule::Segment;

use crate::accounting::Accounting;
use crate::clock::Clock;
use crate::control::Control;
use crate::exchange::{CheckResult, CompletedTimes, OperationName, Purpose, RequestDraft, Response};
use crate::index::{CheckIndex, CheckNameIndex, EndpointIndex, OperationIndex, OriginIndex, ScenarioPhase};
use crate::metrics::{LoopMetrics, NotFinite};
use crate::network::Network;
use crate::operation::{OperationToken, Operations};
use crate::program::{Counters, Directory, MetNames, OriginKind, OriginName, UnusableOrigin};
use crate::script_cpu::ScriptCpu;

/// One scheduled start.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Its number within the scenario, from 0, over all loops.
    pub number: u64,
    pub due: Instant,
    /// The virtual user's number within the run, from 1.
    pub virtual_user: u32,
    /// Its number within the scenario, from 0 and below the scenario's most virtual users.
    pub scenario_user: u32,
}

/// Why an iteration is resumed.
#[derive(Debug)]
pub enum Event<'a> {
    /// Its arrival is due: begin.
    Begin(Arrival),
    /// One of its requests has ended.
    Completed {
        /// The name that the iteration gave to the request.
        name: OperationName,
        /// What was received; incomplete where `transport` is set.
        response: &'a Response,
        /// How the exchange failed; set when no complete response was received.
        transport: Option<Outcome>,
    },
    /// A part of the response was received for a request whose draft asks for that ([`BodyReading::InParts`]). What is received of one
    /// read is one part.
    ///
    /// [`BodyReading::InParts`]: crate::exchange::BodyReading::InParts
    Received {
        /// The name that the iteration gave to the request.
        name: OperationName,
        /// Status, headers, and of the body this part.
        response: &'a Response,
        /// What the request has sent and received so far.
        bytes: &'a RequestBytes,
    },
    /// The timer of this name has fired.
    TimerFired(OperationName),
    /// The next turn of the loop has begun, for which [`Progress::Yielding`] has asked.
    TurnBegan,
}

/// What became of the request that has just completed, and what the iteration does next. Where none has completed, the
/// verdict has no effect.
#[derive(Debug)]
pub enum Progress {
    /// It waits for its requests and timers, of which one or more are in flight or have been asked for.
    Waiting(Verdict),
    /// It has more to do, and lets the loop do what is due meanwhile: resume it in the next turn.
    Yielding(Verdict),
    /// It is over; nothing of it is in flight.
    Done(Verdict),
    /// The request that has just completed, with a response, continues with another one, for which its draft was changed.
    /// Both count as one request, times included.
    Continuing,
    /// The measurement has become impossible, through no fault of the target: end the run, with this reason.
    Abort(String),
}

impl Progress {
    /// Waiting; the response, if there is one, is as expected.
    pub const WAITING: Progress = Progress::Waiting(Verdict::Accepted);
    /// Over; the response, if there is one, is as expected.
    pub const DONE: Progress = Progress::Done(Verdict::Accepted);

    /// Why the response is not as expected, if that is the verdict.
    pub(crate) fn take_rejection(&mut self) -> Option<Rejection> {
        match self {
            Progress::Waiting(verdict) | Progress::Yielding(verdict) | Progress::Done(verdict) => {
                match std::mem::take(verdict) {
                    Verdict::Rejected(rejection) => Some(rejection),
                    Verdict::Accepted => None,
                }
            }
            Progress::Continuing | Progress::Abort(_) => None,
        }
    }
}

/// The verdict on a response.
#[derive(Debug, Default)]
pub enum Verdict {
    /// Its outcome is `ok`.
    #[default]
    Accepted,
    /// It is not as expected.
    Rejected(Rejection),
}

/// Why a response is not as expected.
#[derive(Debug)]
pub struct Rejection {
    /// Its outcome. A request that was not answered has its own.
    pub outcome: Outcome,
    /// The reason in words; stored only in an exemplar.
    pub reason: String,
}

/// The iterations of one virtual user, one after the other. They stay on the loop that they were made on.
pub trait Iteration {
    /// Continue after `event`.
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress;

    /// How long after its due instant the first request of an arrival still has time left, if this virtual user makes it:
    /// see [`UserMaker::time_limit_of`].
    fn time_limit_of(&self, _arrival: u64) -> Option<Duration> {
        None
    }

    /// The loop has given up the iteration that is under way, and its requests and timers: the next event is the
    /// beginning of another one.
    fn cancelled(&mut self) {}
}

/// What the virtual users of a run do.
pub trait Behaviour: Send + Sync {
    /// The virtual users of each of these scenarios on one loop; called on the loop's own thread. Two scenarios of which one is over
    /// before the other begins may ask for virtual users of the same number.
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>>;
}

#[derive(Debug, Clone)]
pub struct LoopScenario {
    /// The scenario's position in the workload.
    pub position: usize,
    pub name: Name,
    /// The part of its load that the loop offers.
    pub segment: Segment,
}

/// Makes the virtual users of one scenario on one loop, and assigns its arrivals to endpoints.
pub trait UserMaker {
    /// The iterations of a new virtual user, by its number within the run, from 1.
    fn virtual_user(&mut self, number: u32) -> Box<dyn Iteration>;

    /// The endpoint that an arrival is counted for, also when it is dropped: the step drawn from a mix. None where
    /// arrivals are counted for the whole iteration.
    fn endpoint_of(&self, _arrival: u64) -> Option<EndpointIndex> {
        None
    }

    /// How long after its due instant the first request of an arrival still has time left, if a new virtual user makes it;
    /// an arrival that could not be started before is dropped, because its failure would not be the target's. None: any.
    fn time_limit_of(&self, _arrival: u64) -> Option<Duration> {
        None
    }
}

/// Whether a timer that fires late is a lag of the generator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TimerKind {
    /// It is at an instant of the load.
    Scheduled,
    /// It is for another try as soon as that can be.
    TryAgain,
}

/// What an iteration asks the loop for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IterationRequest {
    /// Send the request drafted in this operation.
    Submit(OperationIndex),
    /// Resume the iteration at an instant.
    Timer { name: OperationName, at: Instant, kind: TimerKind },
    /// The timer of this name is not to fire.
    CancelTimer(OperationName),
    /// Send the messages in this operation's outbox.
    SendMore(OperationToken),
    /// Cut this operation short.
    Cut(OperationToken),
    /// End this operation as one that cannot be sent.
    Fail(OperationToken),
    /// Close the virtual user's own connections to this origin.
    Close(OriginIndex),
}

/// Identifies a request as long as it is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(OperationToken);

/// Whether a message of a stream is its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessagePosition {
    /// Another message follows.
    NotLast,
    /// The body is complete with it.
    Last,
}

/// Through which an iteration asks for requests and timers.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) clock: Clock,
    pub(crate) control: &'a Control,
    pub(crate) operations: &'a mut Operations,
    pub(crate) requests: &'a mut Vec<IterationRequest>,
    /// The results of the checks of the operation that has just completed.
    pub(crate) checks: &'a mut Vec<(CheckIndex, CheckResult)>,
    pub(crate) counters: &'a Counters,
    pub(crate) directory: &'a Directory,
    pub(crate) met_names: &'a mut MetNames,
    pub(crate) metrics: &'a mut LoopMetrics,
    pub(crate) script_cpu: &'a mut ScriptCpu,
    pub(crate) accounting: &'a mut Accounting,
    /// The scenario of the iteration, and the phase in which its arrival was due.
    pub(crate) at: ScenarioPhase,
    /// Its connections, to be asked only.
    pub(crate) network: &'a Network,
    /// The operation that has just completed.
    pub(crate) completed: Option<OperationIndex>,
}

impl Context<'_> {
    /// The instant of the event: when the arrival was started, the last byte read, the timer fired. Once a piece of a script
    /// has run, that of its end.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The run's clock, for iterations whose own work takes time.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The start of the run, in nanoseconds since 1970.
    pub fn epoch_unix_ns(&self) -> i128 {
        self.clock.epoch_unix_ns()
    }

    /// Run a piece of a script, whose CPU is recorded apart from that of the loop, and which may hold it for long: what follows
    /// from it is dated from its end.
    pub fn run_script<T>(&mut self, piece: impl FnOnce() -> T) -> T {
        let result = self.script_cpu.run(self.clock, self.now, piece);
        self.now = self.script_cpu.ended_at();
        result
    }

    /// End the run at once, on every loop: what is under way is cancelled. What was measured so far is kept.
    pub fn end_run(&self) {
        self.control.abandon();
    }

    /// The endpoint of this name in the iteration's scenario. Names past a limit share one endpoint, on every loop the
    /// same, and the run file has their number.
    pub fn endpoint(&mut self, name: &str) -> EndpointIndex {
        self.met_names.endpoint(self.directory, self.at.scenario, name)
    }

    /// The endpoint of requests to a URL that have no other name. Where URLs that differ in one part are many, the further
    /// ones share an endpoint that is named after their pattern.
    pub fn url_endpoint(&mut self, url: &str) -> EndpointIndex {
        self.met_names.url(self.directory, self.at.scenario, url)
    }

    /// The origin of a URL such as `https://example.com:8443`: with the settings of the plan's target that has this
    /// URL, else with default settings. A name that was not met before is looked up when the first request needs its
    /// address.
    ///
    /// # Errors
    /// [`UnusableOrigin`] when no request can be sent there.
    pub fn origin(&mut self, url: &str) -> Result<OriginIndex, UnusableOrigin> {
        self.met_names.origin(self.directory, OriginName { url, kind: OriginKind::Http, tls: None })
    }

    /// The same for gRPC calls: over HTTP/2, and with the settings of the plan's gRPC target that has this URL.
    ///
    /// # Errors
    /// [`UnusableOrigin`] when no call can be sent there.
    pub fn grpc_origin(&mut self, url: &str) -> Result<OriginIndex, UnusableOrigin> {
        self.met_names.origin(self.directory, OriginName { url, kind: OriginKind::Grpc, tls: None })
    }

    /// The same, with its own authorities and certificates. Connections are not shared with an origin of the same URL
    /// and other ones.
    ///
    /// # Errors
    /// [`UnusableOrigin`] when no call can be sent there.
    pub fn grpc_origin_with(&mut self, url: &str, tls: &TlsFiles) -> Result<OriginIndex, UnusableOrigin> {
        self.met_names.origin(self.directory, OriginName { url, kind: OriginKind::Grpc, tls: Some(tls) })
    }

    /// The same for sessions of WebSocket: over HTTP/1.1, each on its own connection.
    ///
    /// # Errors
    /// [`UnusableOrigin`] when no session can be opened there.
    pub fn websocket_origin(&mut self, url: &str) -> Result<OriginIndex, UnusableOrigin> {
        self.met_names.origin(self.directory, OriginName { url, kind: OriginKind::WebSocket, tls: None })
    }

    /// The handle of a metric, by which this loop adds to it; each combination of tags is one of its own, and has its
    /// values in each phase. A run has 1,024; those that are met later are counted as one of each kind.
    pub fn metric(&mut self, kind: MetricKind, name: &str, tags: &[(&str, &str)]) -> MetricHandle {
        self.metrics.handle(kind, name, tags)
    }

    /// The same; none where the run has no space for it, so that it can be counted under a wider name.
    pub fn own_metric(
        &mut self,
        kind: MetricKind,
        name: &str,
        tags: &[(&str, &str)],
    ) -> Option<MetricHandle> {
        self.metrics.own_handle(kind, name, tags)
    }

    /// Add a value to a metric, now.
    ///
    /// # Errors
    /// [`NotFinite`] when it is not a finite number; nothing was added then.
    pub fn add(&mut self, to: MetricHandle, value: f64) -> Result<(), NotFinite> {
        self.metrics.add(to, value, self.now, self.at.phase)
    }

    /// Ask for a request under this name; fill in the draft that is returned.
    pub fn request(&mut self, name: OperationName) -> &mut RequestDraft {
        let index = self.operations.open(name);
        self.requests.push(IterationRequest::Submit(index));
        self.operations.draft_mut(index)
    }

    /// The draft of a request, while it is under way.
    pub(crate) fn draft_of(&mut self, request: RequestId) -> Option<&RequestDraft> {
        self.operations.find(request.0).map(|operation| &operation.draft)
    }

    /// The request that was asked for last, since the iteration was resumed.
    pub fn last_request(&self) -> Option<RequestId> {
        let index = self.requests.iter().rev().find_map(|request| match request {
            IterationRequest::Submit(index) => Some(*index),
            _ => None,
        })?;
        Some(RequestId(self.operations.token(index)))
    }

    /// Whether [`send`](Self::send) may be called now. It may not while the peer takes so little of what was sent before
    /// that more than 256 KiB of it are kept.
    pub fn may_send(&mut self, request: RequestId) -> bool {
        self.network.may_send_more(request.0, self.operations)
    }

    /// Send a further message, which `fill` appends, of a request drafted with `sends_more`. Nothing happens
    /// when the request is over.
    pub fn send(&mut self, request: RequestId, position: MessagePosition, fill: impl FnOnce(&mut Vec<u8>)) {
        let Some(operation) = self.operations.find(request.0) else { return };
        fill(&mut operation.outbox);
        // What a session sends is not part of the request that has begun it.
        operation.draft.messages += u64::from(operation.draft.purpose != Purpose::WebSocket);
        operation.draft.sends_more = position == MessagePosition::NotLast;
        let asked =
            matches!(self.requests.last(), Some(IterationRequest::SendMore(last)) if *last == request.0);
        if !asked {
            self.requests.push(IterationRequest::SendMore(request.0));
        }
    }

    /// Cut a request short: it completes with what was received of its response so far. A request that was not
    /// sent yet keeps waiting.
    pub fn cut(&mut self, request: RequestId) {
        self.requests.push(IterationRequest::Cut(request.0));
    }

    /// A request, or what follows of it, cannot be sent: it ends as a failed check with this reason.
    pub fn fail(&mut self, request: RequestId, reason: String) {
        let Some(operation) = self.operations.find(request.0) else { return };
        operation.unsendable = Some(reason);
        self.requests.push(IterationRequest::Fail(request.0));
    }

    /// Close the virtual user's own connections to an origin: each when what it carries has ended. Those that it shares
    /// with others stay open.
    pub fn close_connections(&mut self, origin: OriginIndex) {
        self.requests.push(IterationRequest::Close(origin));
    }

    /// Ask to be resumed at `at` under this name.
    pub fn timer(&mut self, name: OperationName, at: Instant) {
        self.requests.push(IterationRequest::Timer { name, at, kind: TimerKind::Scheduled });
    }

    /// The timer of this name, which has not fired, is not to fire.
    pub fn cancel_timer(&mut self, name: OperationName) {
        self.requests.push(IterationRequest::CancelTimer(name));
    }

    /// A timer at an instant that the load does not depend on: no lag is recorded for it.
    pub(crate) fn try_again(&mut self, name: OperationName, at: Instant) {
        self.requests.push(IterationRequest::Timer { name, at, kind: TimerKind::TryAgain });
    }

    /// How long the parts of the request took that has just completed.
    pub fn completed_times(&self) -> Option<CompletedTimes> {
        Some(self.operations.get(self.completed?).times(self.now))
    }

    /// The draft of the request that has just completed.
    pub fn completed_draft(&self) -> Option<&RequestDraft> {
        Some(&self.operations.get(self.completed?).draft)
    }

    /// The same, to be changed into the request that it continues with: [`Progress::Continuing`].
    pub fn completed_draft_mut(&mut self) -> Option<&mut RequestDraft> {
        let draft = self.operations.draft_mut(self.completed?);
        draft.constant = None;
        Some(draft)
    }

    /// The handle of a check that iterations make, by which this loop counts its results. Names past a limit share one, on every
    /// loop the same.
    pub fn iteration_check(&mut self, name: &str) -> CheckNameIndex {
        self.met_names.check(self.directory, name)
    }

    /// Count the result of a check of the iteration. It changes no outcome.
    pub fn check_iteration(&mut self, check: CheckNameIndex, result: CheckResult) {
        self.accounting.checked_iteration(self.at, check, result);
    }

    /// Count that the iteration, which is over, has thrown this.
    pub fn iteration_threw(&mut self, what: &str) {
        self.accounting.iteration_threw(self.at, what);
    }

    /// Set the result of a check of the endpoint.
    pub fn check(&mut self, check: CheckIndex, result: CheckResult) {
        self.checks.push((check, result));
    }
}
