//! What is shown of a row: progress, status, and whether the goal is locked.

use super::{GoalRow, UserGoals};
use crate::catalog::{Catalog, Goal, GoalIndex, ProgressMode};

/// The status of a user's goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No progress.
    NotStarted,
    InProgress,
    /// The target was reached.
    Completed,
    /// The reward was granted.
    Claimed,
}

impl Status {
    /// Its name in responses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::NotStarted => "not_started",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Claimed => "claimed",
        }
    }
}

/// Progress towards the target. Events are counted from the assignment on, so only a value needs a baseline.
#[must_use]
pub fn progress(goal: &Goal, row: &GoalRow) -> i32 {
    match goal.mode {
        ProgressMode::Relative => {
            row.baseline.map_or(0, |baseline| row.value.saturating_sub(baseline).max(0))
        }
        ProgressMode::Absolute | ProgressMode::EachEvent | ProgressMode::EachDay => row.value,
    }
}

#[must_use]
pub fn status(goal: &Goal, row: &GoalRow) -> Status {
    if row.claimed_at.is_some() {
        Status::Claimed
    } else if row.completed_at.is_some() {
        Status::Completed
    } else if progress(goal, row) > 0 {
        Status::InProgress
    } else {
        Status::NotStarted
    }
}

/// Whether a prerequisite of the goal is not completed by this user.
#[must_use]
pub fn is_locked(catalog: &Catalog, user: &UserGoals, goal: GoalIndex) -> bool {
    let is_completed = |goal: &GoalIndex| user.row(*goal).is_some_and(|row| row.completed_at.is_some());
    !catalog.goal(goal).prerequisites.iter().all(is_completed)
}
