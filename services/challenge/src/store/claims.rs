//! Claims as stores persist them: the intent with its idempotency key, recorded before the reward is granted.

use std::time::Duration;

use kit::clock::UtcMs;

use super::event_key::EventKey;
use crate::catalog::{Catalog, GoalIndex};
use crate::grant::Grant;
use crate::rules::ClaimRefusal;
use crate::user::UserId;

/// A claim that was begun: what to grant, under which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimIntent {
    /// The user who claims.
    pub user: UserId,
    /// Which goal, by id: the goal may have been removed from the challenge file since.
    pub goal_id: String,
    /// The rotation period that the claim is for; 0 for goals that never rotate.
    pub period: i64,
    /// What to grant.
    pub grant: Grant,
}

/// The time in which claims may still be in flight, before and after now. Claims begun outside of it were left open:
/// after the clock was set back, those of before begin later than now.
#[derive(Debug, Clone, Copy)]
pub struct InFlightWindow {
    /// Claims that began before are not in flight.
    pub(super) from: UtcMs,
    /// Claims that began later are not in flight.
    pub(super) until: UtcMs,
}

impl InFlightWindow {
    /// No claim is in flight: the process that began any of them has ended.
    pub const EMPTY: Self = Self { from: UtcMs(i64::MAX / 4), until: UtcMs(i64::MAX / 4) };

    /// The window around `now`, when every claim ends or fails within `max_duration`.
    #[must_use]
    pub fn around(now: UtcMs, max_duration: Duration) -> Self {
        let max_ms = i64::try_from(max_duration.as_millis()).unwrap_or(i64::MAX);
        Self { from: UtcMs(now.0.saturating_sub(max_ms)), until: UtcMs(now.0.saturating_add(max_ms)) }
    }
}

/// How a claim begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimStart {
    /// The intent is durable: the reward may be granted.
    Begun(ClaimIntent),
    /// The rules refuse the claim.
    Refused(ClaimRefusal),
}

/// How a claim ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// This call ended it.
    Claimed(UtcMs),
    /// It had been ended before.
    AlreadyClaimed,
}

/// Identifies a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ClaimKey {
    pub(super) user: UserId,
    pub(super) goal_id: String,
    pub(super) period: i64,
}

/// A claim as a store has it.
#[derive(Debug, Clone)]
pub(super) struct StoredClaim {
    pub(super) intent: ClaimIntent,
    pub(super) is_granted: bool,
}

/// A claim to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClaimChange {
    pub(super) intent: ClaimIntent,
    /// `None` when the claim is only begun.
    pub(super) granted_at: Option<UtcMs>,
}

impl ClaimIntent {
    pub(super) fn new(catalog: &Catalog, user: &UserId, goal: GoalIndex, period: i64) -> Self {
        let goal = catalog.goal(goal);
        let key = EventKey::new("claim", user, &format!("{period}/{}", goal.id));
        let grant = Grant {
            idempotency_key: format!("claim-{:032x}", key.0),
            user: user.clone(),
            reward_type: goal.reward.kind.to_owned(),
            reward_id: goal.reward.id.clone(),
            quantity: goal.reward.quantity,
        };
        Self { user: user.clone(), goal_id: goal.id.clone(), period, grant }
    }

    pub(super) fn key(&self) -> ClaimKey {
        ClaimKey { user: self.user.clone(), goal_id: self.goal_id.clone(), period: self.period }
    }
}
