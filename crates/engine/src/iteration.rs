//! What a virtual user does for one arrival, as a state machine that the loop drives.
//!
//! The loop resumes an iteration with an [`Event`]. Through its [`Context`] the iteration asks for what it needs
//! next: zero or more requests and timers, all of which may be in flight at once. Steps of a plan are one
//! implementation; scripts will be another. An iteration never uses a socket or a clock.

use std::time::Duration;

use evidence::{Instant, Outcome};

use crate::exchange::{CheckResult, OperationName, RequestDraft, Response};
use crate::index::{CheckIndex, EndpointIndex, OperationIndex, ScenarioIndex};
use crate::operation::{OperationToken, Operations};
use crate::program::{Counters, Directory, MetNames};

/// One scheduled start.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    /// Its number within the scenario, from 0, over all loops.
    pub number: u64,
    /// When it is due.
    pub due: Instant,
    /// The virtual user's number within the run, from 1.
    pub virtual_user: u32,
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
    /// The timer of this name has fired.
    TimerFired(OperationName),
}

/// Whether an iteration has more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// A request or a timer of it is in flight.
    Waiting,
    /// It is over; nothing of it is in flight.
    Done,
}

/// The iterations of one virtual user, one after the other.
pub trait Iteration: Send {
    /// Go on from `event`. When it returns [`Progress::Waiting`], a request or a timer must be in flight or must
    /// have been asked for.
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress;
}

/// Makes the iterations of a scenario's virtual users, and assigns its arrivals to endpoints.
pub trait Behaviour: Send + Sync {
    /// The iterations of a new virtual user.
    fn virtual_user(&self) -> Box<dyn Iteration>;

    /// The endpoint that an arrival is counted for, also when it is dropped: the step drawn from a mix. None for
    /// a sequence, whose arrivals are counted for the whole iteration.
    fn endpoint_of(&self, arrival: u64) -> Option<EndpointIndex>;

    /// How long after its due instant the first request of an arrival still has time left; an arrival that could not be
    /// started before is dropped, because its failure would not be the target's. None: any.
    fn time_limit_of(&self, _arrival: u64) -> Option<Duration> {
        None
    }
}

/// What an iteration asks the loop for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IterationRequest {
    /// Send the request drafted in this operation.
    Submit(OperationIndex),
    /// Resume the iteration at an instant.
    Timer { name: OperationName, at: Instant },
    /// Send the messages in this operation's outbox.
    SendMore(OperationToken),
    /// Cut this operation short.
    Cut(OperationToken),
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

/// Through which an iteration asks for requests and timers, and gives its verdict on a response.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) now: Instant,
    /// The run's epoch in nanoseconds since 1970.
    pub(crate) epoch_unix_ns: i128,
    pub(crate) operations: &'a mut Operations,
    pub(crate) requests: &'a mut Vec<IterationRequest>,
    pub(crate) verdict: &'a mut ResponseVerdict,
    pub(crate) counters: &'a Counters,
    pub(crate) directory: &'a Directory,
    pub(crate) met_names: &'a mut MetNames,
    /// The scenario of the iteration.
    pub(crate) scenario: ScenarioIndex,
    /// The operation that has just completed.
    pub(crate) completed: Option<OperationIndex>,
}

/// An iteration's verdict on a completed request.
#[derive(Debug, Default)]
pub(crate) struct ResponseVerdict {
    /// Its outcome; none means `ok`.
    pub(crate) outcome: Option<Outcome>,
    /// The reason in words; stored only in an exemplar.
    pub(crate) detail: String,
    /// The results of the endpoint's checks.
    pub(crate) checks: Vec<(CheckIndex, CheckResult)>,
    /// Whether the operation that has just completed continues with another request.
    pub(crate) continues: bool,
    /// Why the measurement itself has become impossible.
    pub(crate) abort: Option<String>,
}

impl ResponseVerdict {
    pub(crate) fn clear(&mut self) {
        self.outcome = None;
        self.continues = false;
        self.detail.clear();
        self.checks.clear();
    }
}

impl Context<'_> {
    /// The instant of the event: when the arrival was started, the last byte read, the timer fired.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The endpoint of this name in the iteration's scenario. Names past a limit share one endpoint, on every loop the
    /// same, and the run file has their number.
    pub fn endpoint(&mut self, name: &str) -> EndpointIndex {
        self.met_names.endpoint(self.directory, self.scenario, name)
    }

    /// Ask for a request under this name; fill in the draft that is returned.
    pub fn request(&mut self, name: OperationName) -> &mut RequestDraft {
        let index = self.operations.open(name);
        self.requests.push(IterationRequest::Submit(index));
        self.operations.draft_mut(index)
    }

    /// The request that was asked for last, since the iteration was resumed.
    pub fn last_request(&self) -> Option<RequestId> {
        let index = self.requests.iter().rev().find_map(|request| match request {
            IterationRequest::Submit(index) => Some(*index),
            _ => None,
        })?;
        Some(RequestId(self.operations.token(index)))
    }

    /// Send a further message, which `fill` appends, of a request drafted with `sends_more`. Nothing happens
    /// when the request is over.
    pub fn send(&mut self, request: RequestId, position: MessagePosition, fill: impl FnOnce(&mut Vec<u8>)) {
        let Some(operation) = self.operations.find(request.0) else { return };
        fill(&mut operation.outbox);
        operation.draft.messages += 1;
        operation.draft.sends_more = position == MessagePosition::NotLast;
        self.requests.push(IterationRequest::SendMore(request.0));
    }

    /// Cut a request short: it completes with what was received of its response so far. A request that was not
    /// sent yet keeps waiting.
    pub fn cut(&mut self, request: RequestId) {
        self.requests.push(IterationRequest::Cut(request.0));
    }

    /// Ask to be resumed at `at` under this name.
    pub fn timer(&mut self, name: OperationName, at: Instant) {
        self.requests.push(IterationRequest::Timer { name, at });
    }

    /// The draft of the request that has just completed.
    pub(crate) fn completed_draft(&self) -> Option<&RequestDraft> {
        Some(&self.operations.get(self.completed?).draft)
    }

    /// Continue the request that has just completed with another one, which `change` makes of its draft. Both
    /// count as one request, times included. When `change` fails nothing follows.
    pub fn continue_with<E>(
        &mut self,
        change: impl FnOnce(&mut RequestDraft) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(index) = self.completed else { return Ok(()) };
        change(self.operations.draft_mut(index))?;
        self.verdict.continues = true;
        Ok(())
    }

    /// Set the outcome of the request that has just completed.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        self.verdict.outcome = Some(outcome);
    }

    /// Set the reason of the outcome, in words.
    pub fn set_detail(&mut self, detail: &str) {
        self.verdict.detail.clear();
        self.verdict.detail.push_str(detail);
    }

    /// The measurement has become impossible, through no fault of the target: end the run with this reason.
    pub fn abort(&mut self, reason: &str) {
        self.verdict.abort = Some(reason.to_owned());
    }

    /// Set the result of a check of the endpoint.
    pub fn check(&mut self, check: CheckIndex, result: CheckResult) {
        self.verdict.checks.push((check, result));
    }
}
