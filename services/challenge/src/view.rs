//! The views of goals that a user sees, independent of the transport. JSON texts and gRPC messages are both made from
//! these views alone, so that the two cannot differ.
//!
//! Nothing here depends on a transport.

mod rotation;
mod selection;

use kit::clock::UtcMs;
use serde::Serialize;

use crate::catalog::{Catalog, Goal, GoalIndex, Reward};
use crate::rules::{Activation, GoalRow, Status, UserGoals, is_locked, progress, status};
use crate::store::Initialized;
pub use rotation::{PeriodView, RotationStatus, RotationView};
pub use selection::{SelectedGoalView, SelectionView};

/// Which goals a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalFilter {
    All,
    /// The active ones; a challenge without any has an empty list.
    Active,
}

impl GoalFilter {
    /// Whether a list with this filter shows the goal to this user.
    #[must_use]
    pub fn includes(self, user: &UserGoals, goal: GoalIndex) -> bool {
        self == Self::All || user.row(goal).is_some_and(|row| row.is_active)
    }
}

/// One goal in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalView<'a> {
    /// The goal itself, the same for every user.
    pub goal: &'a Goal,
    /// Towards the goal's target.
    pub progress: i32,
    /// The user's status.
    pub status: Status,
    /// Whether a prerequisite is not completed by this user.
    pub is_locked: bool,
    /// When the target was reached.
    pub completed_at: Option<UtcMs>,
    /// When the reward was granted.
    pub claimed_at: Option<UtcMs>,
    /// Whether events move it and a claim is allowed.
    pub is_active: bool,
    /// When the goal's period ends, also for a user without a row.
    pub expires_at: Option<UtcMs>,
    /// Whole seconds until then; 0 without an end.
    pub expires_in_s: i32,
}

impl<'a> GoalView<'a> {
    /// The goal as the user sees it at `now`.
    #[must_use]
    pub fn new(catalog: &'a Catalog, user: &UserGoals, index: GoalIndex, now: UtcMs) -> Self {
        let goal = catalog.goal(index);
        let row = user.row(index);
        let time = |pick: fn(&GoalRow) -> Option<UtcMs>| row.and_then(pick);
        let expires_at = expires_at(goal, now);
        Self {
            goal,
            progress: row.map_or(0, |row| progress(goal, row)),
            status: row.map_or(Status::NotStarted, |row| status(goal, row)),
            is_locked: is_locked(catalog, user, index),
            completed_at: time(|row| row.completed_at),
            claimed_at: time(|row| row.claimed_at),
            is_active: row.is_some_and(|row| row.is_active),
            expires_at,
            expires_in_s: expires_at.map_or(0, |end| seconds_until(end, now)),
        }
    }
}

/// One active goal in the response to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedView<'a> {
    pub index: GoalIndex,
    /// The goal itself, the same for every user.
    pub goal: &'a Goal,
    /// The challenge that it belongs to.
    pub challenge_id: &'a str,
    /// When it was last made active.
    pub assigned_at: Option<UtcMs>,
    /// When the goal's period ends.
    pub expires_at: Option<UtcMs>,
    /// Towards the goal's target.
    pub progress: i32,
    /// The user's status.
    pub status: Status,
}

/// The active goals in the response to `initialize`, in document order.
#[must_use]
pub fn assigned<'a>(catalog: &'a Catalog, done: &Initialized) -> Vec<AssignedView<'a>> {
    let active = done.goals.rows().iter().filter(|row| row.is_active);
    let view = |row: &GoalRow| {
        let goal = catalog.goal(row.goal);
        AssignedView {
            index: row.goal,
            goal,
            challenge_id: &catalog.challenge_of(goal).id,
            assigned_at: row.assigned_at,
            expires_at: expires_at(goal, done.at),
            progress: progress(goal, row),
            status: status(goal, row),
        }
    };
    active.map(view).collect()
}

/// The response to `set active`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ActiveSet<'a> {
    /// The goal's challenge.
    pub challenge_id: &'a str,
    pub goal_id: &'a str,
    /// Whether it is active now.
    pub is_active: bool,
    /// When it was last made active.
    pub assigned_at: String,
    /// Display text.
    pub message: &'static str,
}

impl<'a> ActiveSet<'a> {
    /// The response for the goal of `row`.
    #[must_use]
    pub fn new(catalog: &'a Catalog, row: &GoalRow, activation: Activation) -> Self {
        let goal = catalog.goal(row.goal);
        let message = match activation {
            Activation::On => "Goal activated successfully",
            Activation::Off => "Goal deactivated successfully",
        };
        Self {
            challenge_id: &catalog.challenge_of(goal).id,
            goal_id: &goal.id,
            is_active: row.is_active,
            assigned_at: instant(row.assigned_at),
            message,
        }
    }
}

/// The response to a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Claimed<'a> {
    pub goal_id: &'a str,
    /// Always the status of a claimed goal.
    pub status: &'static str,
    /// What was granted.
    pub reward: RewardView<'a>,
    /// When it was granted.
    pub claimed_at: String,
}

impl<'a> Claimed<'a> {
    /// The goal's reward was granted at `at`.
    #[must_use]
    pub fn new(goal: &'a Goal, at: UtcMs) -> Self {
        let reward = RewardView::new(&goal.reward);
        Self { goal_id: &goal.id, status: Status::Claimed.name(), reward, claimed_at: at.to_string() }
    }
}

/// What a goal grants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RewardView<'a> {
    /// `ITEM` or `WALLET`.
    pub r#type: &'a str,
    /// The item or currency.
    pub reward_id: &'a str,
    pub quantity: i32,
}

impl<'a> RewardView<'a> {
    /// A goal's reward.
    #[must_use]
    pub fn new(reward: &'a Reward) -> Self {
        Self { r#type: reward.kind, reward_id: &reward.id, quantity: reward.quantity }
    }
}

/// What a goal requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequirementView<'a> {
    /// The statistic.
    pub stat_code: &'a str,
    /// The comparison.
    pub operator: &'static str,
    /// The value that it is compared with.
    pub target_value: i32,
}

impl<'a> RequirementView<'a> {
    /// A goal's requirement.
    #[must_use]
    pub fn new(goal: &'a Goal) -> Self {
        Self { stat_code: &goal.stat_code, operator: ">=", target_value: goal.target }
    }
}

/// When the goal's period ends that contains `now`, for goals that have periods.
fn expires_at(goal: &Goal, now: UtcMs) -> Option<UtcMs> {
    goal.rotation.map(|rotation| rotation.schedule.period(now).end)
}

/// Whole seconds until an instant; 0 from then on.
fn seconds_until(end: UtcMs, now: UtcMs) -> i32 {
    let left_s = end.0.saturating_sub(now.0).max(0) / 1000;
    i32::try_from(left_s).unwrap_or(i32::MAX)
}

/// RFC 3339, or empty when there is no instant.
#[must_use]
pub fn instant(time: Option<UtcMs>) -> String {
    time.map(|time| time.to_string()).unwrap_or_default()
}
