//! What a store can be asked, and what it answers.

use super::StoreError;
use super::claims::{ClaimEnd, ClaimIntent, ClaimStart};
use crate::catalog::{GoalIx, Trigger};
use crate::rewards::Grant;
use crate::rules::{Activation, GoalRow, Happening, UserGoals};
use crate::user::UserId;
use kit::limit::Permit;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

pub(super) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// What stands for an event's id: 128 bits of SHA-256 over kind, user and id, so that its size is fixed whatever a
/// publisher sends, and no publisher can make two events collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventKey(pub(super) u128);

impl EventKey {
    /// The key of an event; `kind` tells event types apart, as their publishers number ids apart.
    #[must_use]
    pub fn new(kind: &str, user: &UserId, id: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [kind, user.as_str(), id] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Self(u128::from_le_bytes(key))
    }
}

/// An event on its way into the store.
#[derive(Debug)]
pub struct EventWrite {
    /// Whose goals it moves.
    pub user: UserId,
    /// Recognises it when it is delivered again; `None` for events without an id.
    pub key: Option<EventKey>,
    /// Which goals it may move.
    pub trigger: Trigger,
    /// What it says.
    pub what: Happening,
    /// Its place in the buffer, given back once it is written or refused.
    pub place: Permit,
}

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOutcome {
    /// It was applied, and is durable.
    Written,
    /// It was applied before.
    Duplicate,
}

/// What `initialize` did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialized {
    /// Default goals given by this very call.
    pub new_assignments: u32,
    /// The user's rows afterwards.
    pub goals: UserGoals,
}

/// A write. All of them concern one user each, so that a store may split them by user.
pub(super) enum Command {
    Event(EventWrite, Option<Reply<EventOutcome>>),
    Initialize(UserId, Reply<Initialized>),
    SetActive { user: UserId, goal: GoalIx, activation: Activation, reply: Reply<GoalRow> },
    BeginClaim { user: UserId, goal: GoalIx, reply: Reply<ClaimStart> },
    EndClaim(ClaimIntent, Reply<ClaimEnd>),
    EnterGrant(Grant, Reply<()>),
}

impl Command {
    /// Whom it concerns.
    pub(super) fn user(&self) -> &UserId {
        match self {
            Self::Event(event, _) => &event.user,
            Self::Initialize(user, _) | Self::SetActive { user, .. } | Self::BeginClaim { user, .. } => user,
            Self::EndClaim(intent, _) => &intent.user,
            Self::EnterGrant(grant, _) => &grant.user,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_kind_user_and_id() {
        let [ann, bob] = ["ann", "bob"].map(|name| UserId::new(name).unwrap());
        let key = EventKey::new("login", &ann, "1");
        assert_eq!(key, EventKey::new("login", &ann, "1"));
        assert_ne!(key, EventKey::new("statistic", &ann, "1"));
        assert_ne!(key, EventKey::new("login", &bob, "1"));
        assert_ne!(key, EventKey::new("login", &ann, "2"));
    }
}
