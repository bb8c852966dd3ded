//! The writes of a store, and their results.

use kit::limit::Permit;
use tokio::sync::oneshot;

use super::StoreError;
use super::claims::{ClaimEnd, ClaimIntent, ClaimStart};
use super::event_key::EventKey;
use crate::catalog::GoalIndex;
use crate::grant::Grant;
use crate::rules::{Activation, GoalRow, TriggeredEvent, UserGoals};
use crate::user::UserId;

pub(super) type ReplySender<T> = oneshot::Sender<Result<T, StoreError>>;

/// An event on its way into the store.
#[derive(Debug)]
pub struct EventWrite {
    /// The user whose goals it moves.
    pub user: UserId,
    /// Recognises it when it is delivered again; `None` for events without an id.
    pub key: Option<EventKey>,
    /// What happened, and which goals it may move.
    pub event: TriggeredEvent,
    /// Its slot in the buffer, released once it is written or refused.
    pub buffer_slot: Permit,
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
}

/// A write. Each concerns one user, so that a store may partition them by user.
pub(super) enum Command {
    Event(EventWrite, Option<ReplySender<EventOutcome>>),
    Initialize(UserId, ReplySender<Initialized>),
    SetActive { user: UserId, goal: GoalIndex, activation: Activation, reply: ReplySender<GoalRow> },
    BeginClaim { user: UserId, goal: GoalIndex, reply: ReplySender<ClaimStart> },
    EndClaim(ClaimIntent, ReplySender<ClaimEnd>),
    EnterGrant(Grant, ReplySender<()>),
}

impl Command {
    /// The user that it concerns.
    pub(super) fn user(&self) -> &UserId {
        match self {
            Self::Event(event, _) => &event.user,
            Self::Initialize(user, _) | Self::SetActive { user, .. } | Self::BeginClaim { user, .. } => user,
            Self::EndClaim(intent, _) => &intent.user,
            Self::EnterGrant(grant, _) => &grant.user,
        }
    }
}
