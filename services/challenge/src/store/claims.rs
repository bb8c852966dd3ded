//! A claim as stores keep it: the intent with its idempotency key, recorded before the reward is asked for.

use super::command::EventKey;
use crate::catalog::{Catalog, GoalIx};
use crate::rewards::Grant;
use crate::rules::ClaimRefusal;
use crate::user::UserId;
use kit::clock::UtcMs;
use std::time::Duration;

/// A claim that was begun: what to grant, under which key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimIntent {
    /// Whose claim.
    pub user: UserId,
    /// Which goal, by id: the goal may have left the file since.
    pub goal_id: String,
    /// The rotation period that the claim is for; 0 for goals that never rotate.
    pub period: i64,
    /// What to grant.
    pub grant: Grant,
}

/// Claims that may still be on their way: begun within some time of now. By a clock that was set back since, those that
/// were left open long ago begin after now.
#[derive(Debug, Clone, Copy)]
pub struct OnTheirWay {
    /// What began before is none.
    pub(super) from: UtcMs,
    /// What began later is none.
    pub(super) until: UtcMs,
}

impl OnTheirWay {
    /// None is: whoever began one is gone.
    pub const NONE: Self = Self { from: UtcMs(i64::MAX / 4), until: UtcMs(i64::MAX / 4) };

    /// A claim ends, or is given up, within `longest`.
    #[must_use]
    pub fn at(now: UtcMs, longest: Duration) -> Self {
        let longest_ms = i64::try_from(longest.as_millis()).unwrap_or(i64::MAX);
        Self { from: UtcMs(now.0.saturating_sub(longest_ms)), until: UtcMs(now.0.saturating_add(longest_ms)) }
    }
}

/// How a claim begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimStart {
    /// The intent is durable: the reward may be asked for.
    Begun(ClaimIntent),
    /// The rules say no.
    Refused(ClaimRefusal),
}

/// How a claim ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimEnd {
    /// This call ended it.
    Claimed(UtcMs),
    /// It had been ended before.
    Already,
}

/// What tells one claim from all others: user, goal, period.
pub(super) type ClaimKey = (UserId, String, i64);

/// A claim that a store holds.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) intent: ClaimIntent,
    pub(super) is_granted: bool,
}

impl ClaimIntent {
    pub(super) fn new(catalog: &Catalog, user: &UserId, (goal, period): (GoalIx, i64)) -> Self {
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
        (self.user.clone(), self.goal_id.clone(), self.period)
    }
}
