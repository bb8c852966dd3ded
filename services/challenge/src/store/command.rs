//! The writes of a store, and their results.

use std::sync::Arc;

use kit::clock::UtcMs;
use kit::group_commit::GroupedCommand;
use kit::limit::Permit;
use tokio::sync::oneshot;

use super::StoreError;
use super::claims::{ClaimEnd, ClaimFailure, ClaimIntent, ClaimStart, ClaimTerms};
use super::event_key::EventKey;
use crate::catalog::GoalIndex;
use crate::grant::Grant;
use crate::rules::{Activation, GoalRow, SelectRefusal, Selected, Selection, TriggeredEvent, UserGoals};
use crate::user::UserId;

/// An event on its way into the store.
#[derive(Debug)]
pub struct EventWrite {
    /// The user whose goals it moves.
    pub user: UserId,
    /// Recognises it when it is delivered again; `None` for events without an id.
    pub key: Option<EventKey>,
    /// What happened, and which goals it may move.
    pub event: TriggeredEvent,
}

/// The result of writing an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOutcome {
    /// It was applied, and is durable.
    Written,
    /// It was applied before.
    Duplicate,
}

/// The result of `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialized {
    /// Default goals assigned by this call.
    pub new_assignments: u32,
    /// The user's rows afterwards.
    pub goals: UserGoals,
    pub at: UtcMs,
}

/// Where the result of a command is sent once it is durable, and the command's slot until then.
pub(super) struct Reply<T> {
    caller: oneshot::Sender<Result<T, StoreError>>,
    slot: Permit,
    /// What the last attempt came to.
    outcome: Option<T>,
}

impl<T> Reply<T> {
    pub(super) fn new(slot: Permit) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (caller, outcome) = oneshot::channel();
        (Self { caller, slot, outcome: None }, outcome)
    }

    pub(super) fn set(&mut self, outcome: T) {
        self.outcome = Some(outcome);
    }

    /// The slot is free before the caller receives the result. What is written is durable although the caller has left.
    fn send(self, result: Result<T, StoreError>) {
        drop(self.slot);
        let _caller_gone = self.caller.send(result);
    }

    fn succeed(mut self) {
        let outcome = self.outcome.take().ok_or(StoreError::Closed);
        self.send(outcome);
    }

    fn fail(self, error: &StoreError) {
        self.send(Err(error.clone()));
    }

    fn is_abandoned(&self) -> bool {
        self.caller.is_closed()
    }
}

/// When an event is acknowledged.
pub(super) enum EventReply {
    /// Once it is durable.
    WhenDurable(Reply<EventOutcome>),
    /// It was, when it was queued; its slot in the buffer.
    Sent(#[expect(dead_code, reason = "free when the event is dropped")] Permit),
}

/// A write. Each concerns one user, so that a store may partition them by user.
pub(super) enum Command {
    Event(EventWrite, EventReply),
    Initialize(UserId, Reply<Initialized>),
    SetActive { user: UserId, goal: GoalIndex, activation: Activation, reply: Reply<GoalRow> },
    Select { user: UserId, selection: Selection, reply: Reply<Result<Selected, SelectRefusal>> },
    BeginClaim { user: UserId, goal: GoalIndex, terms: Arc<ClaimTerms>, reply: Reply<ClaimStart> },
    EndClaim(ClaimIntent, Reply<ClaimEnd>),
    LeaveClaim(ClaimIntent, ClaimFailure, Reply<()>),
    EnterGrant(Grant, Reply<()>),
}

/// The same for the reply of every command that has one.
macro_rules! with_reply {
    ($command:expr, $reply:ident => $with:expr, $without:expr) => {
        match $command {
            Command::Event(_, EventReply::WhenDurable($reply)) => $with,
            Command::Event(_, EventReply::Sent(_)) => $without,
            Command::Initialize(_, $reply) => $with,
            Command::SetActive { reply: $reply, .. } => $with,
            Command::Select { reply: $reply, .. } => $with,
            Command::BeginClaim { reply: $reply, .. } => $with,
            Command::EndClaim(_, $reply) => $with,
            Command::LeaveClaim(_, _, $reply) | Command::EnterGrant(_, $reply) => $with,
        }
    };
}

impl Command {
    /// The user that it concerns.
    pub(super) fn user(&self) -> &UserId {
        match self {
            Self::Event(event, _) => &event.user,
            Self::Initialize(user, _)
            | Self::SetActive { user, .. }
            | Self::Select { user, .. }
            | Self::BeginClaim { user, .. } => user,
            Self::EndClaim(intent, _) | Self::LeaveClaim(intent, ..) => &intent.user,
            Self::EnterGrant(grant, _) => &grant.user,
        }
    }

    /// Sends its caller the outcome, which is durable.
    pub(super) fn succeed(self) {
        with_reply!(self, reply => reply.succeed(), ());
    }
}

impl GroupedCommand for Command {
    type Error = StoreError;

    fn is_abandoned(&self) -> bool {
        with_reply!(self, reply => reply.is_abandoned(), false)
    }

    fn is_acknowledged(&self) -> bool {
        with_reply!(self, _reply => false, true)
    }

    fn fail(self, error: &StoreError) {
        with_reply!(self, reply => reply.fail(error), ());
    }
}
