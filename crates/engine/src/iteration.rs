//! What a virtual user does for one arrival, as a state machine that the loop drives.
//!
//! The loop resumes an iteration with an [`Event`]; the iteration says through its [`Context`] what it
//! wants next: zero or more requests and timers, all of which may be in flight at once. Steps of a plan
//! are one implementation; scripts will be another. An iteration never touches a socket or a clock.

use evidence::{Instant, Outcome};

use crate::operation::{Draft, OperationToken, Operations, Response};
use crate::program::Counters;

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

/// By which name an iteration knows one of its operations.
pub type WantId = u32;

/// Why an iteration is resumed.
#[derive(Debug)]
pub enum Event<'a> {
    /// Its arrival is due: begin.
    Begin(Arrival),
    /// One of its requests has ended.
    Completed {
        /// Which one.
        want: WantId,
        /// What came back; partial where `transport` says so.
        response: &'a Response,
        /// Set when no complete response came: how the exchange failed.
        transport: Option<Outcome>,
    },
    /// One of its timers has fired.
    Fired(WantId),
}

/// Whether an iteration has more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Something it wants is in flight.
    Waiting,
    /// It is over; nothing of it is in flight.
    Done,
}

/// The iterations of one virtual user, one after the other.
pub trait Iteration: Send {
    /// Go on from `event`. Must want something or have something in flight when it returns
    /// [`Progress::Waiting`].
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress;
}

/// Makes iterations for a scenario's virtual users, and says where its arrivals belong.
pub trait Behaviour: Send + Sync {
    /// The iterations of a new virtual user.
    fn virtual_user(&self) -> Box<dyn Iteration>;

    /// The endpoint an arrival belongs to, also when it is dropped: the step drawn from a mix. None for a
    /// sequence, whose arrivals belong to the whole iteration.
    fn endpoint_of(&self, arrival: u64) -> Option<usize>;
}

/// What an iteration wants, in the order it said so.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Want {
    /// Send the request drafted in this operation.
    Request(u32),
    /// Wake it at this instant.
    Timer(WantId, Instant),
    /// Send what is in this operation's outbox.
    More(OperationToken),
    /// End this operation, because it has lasted long enough.
    Cut(OperationToken),
}

/// By which the loop knows a request, as long as it is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestId(OperationToken);

/// What follows a part of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// Another part.
    More,
    /// Nothing: the body is complete.
    End,
}

/// Through which an iteration says what it wants and what it thinks of a response.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) operations: &'a mut Operations,
    pub(crate) wants: &'a mut Vec<Want>,
    pub(crate) opinion: &'a mut Opinion,
    pub(crate) counters: &'a Counters,
    /// The operation that has just completed, by its place.
    pub(crate) completed: Option<u32>,
}

/// What an iteration thinks of a completed request.
#[derive(Debug, Default)]
pub struct Opinion {
    /// Its outcome; `ok` unless said otherwise.
    pub(crate) outcome: Option<Outcome>,
    /// Why, in words; kept only where the exchange is kept.
    pub(crate) detail: String,
    /// Checks by their place in the endpoint's list, and whether they held.
    pub(crate) checks: Vec<(u16, bool)>,
    /// Whether the operation that has just completed goes on with another request.
    pub(crate) goes_on: bool,
    /// Set when the measurement itself has become impossible.
    pub(crate) abort: Option<String>,
}

impl Opinion {
    pub(crate) fn clear(&mut self) {
        self.outcome = None;
        self.goes_on = false;
        self.detail.clear();
        self.checks.clear();
    }
}

impl Context<'_> {
    /// The instant of the event: when the arrival was started, the last byte read, the timer fired.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Ask for a request under the name `want`; fill in the draft that comes back.
    pub fn request(&mut self, want: WantId) -> &mut Draft {
        let place = self.operations.open(want);
        self.wants.push(Want::Request(place));
        self.operations.draft_mut(place)
    }

    /// The request that was asked for last, since the iteration was resumed.
    pub fn last_request(&self) -> Option<RequestId> {
        let place = self.wants.iter().rev().find_map(|want| match want {
            Want::Request(place) => Some(*place),
            _ => None,
        })?;
        Some(RequestId(self.operations.token(place)))
    }

    /// Send a further message, which `fill` appends, of a request drafted with `sends_more`. Nothing happens
    /// when the request is over.
    pub fn send(&mut self, request: RequestId, then: Then, fill: impl FnOnce(&mut Vec<u8>)) {
        let Some((_, operation)) = self.operations.find(request.0.0) else { return };
        fill(&mut operation.outbox);
        operation.draft.messages += 1;
        operation.draft.sends_more = then == Then::More;
        self.wants.push(Want::More(request.0));
    }

    /// End a request, because it has lasted long enough; it completes with what has come of its response. One
    /// that was not sent yet goes on waiting.
    pub fn cut(&mut self, request: RequestId) {
        self.wants.push(Want::Cut(request.0));
    }

    /// Ask to be resumed at `at` under the name `want`.
    pub fn timer(&mut self, want: WantId, at: Instant) {
        self.wants.push(Want::Timer(want, at));
    }

    /// The request that has just completed, as it was drafted.
    pub(crate) fn completed_draft(&self) -> Option<&Draft> {
        Some(&self.operations.get(self.completed?).draft)
    }

    /// Go on with the request that has just completed, by another that `change` makes of its draft and that
    /// belongs to it, its time too. When `change` fails nothing follows.
    pub fn again<E>(&mut self, change: impl FnOnce(&mut Draft) -> Result<(), E>) -> Result<(), E> {
        let Some(place) = self.completed else { return Ok(()) };
        change(self.operations.draft_mut(place))?;
        self.opinion.goes_on = true;
        Ok(())
    }

    /// Say how the request that has just completed ended.
    pub fn set_outcome(&mut self, outcome: Outcome) {
        self.opinion.outcome = Some(outcome);
    }

    /// Say why, in words.
    pub fn set_detail(&mut self, detail: &str) {
        self.opinion.detail.clear();
        self.opinion.detail.push_str(detail);
    }

    /// The measurement has become impossible, through no fault of the target: end the run and say why.
    pub fn abort(&mut self, why: &str) {
        self.opinion.abort = Some(why.to_owned());
    }

    /// Say whether a check of the endpoint, by its place in the endpoint's list, held.
    pub fn check(&mut self, check: u16, held: bool) {
        self.opinion.checks.push((check, held));
    }
}
