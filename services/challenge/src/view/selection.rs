//! What a selection answers: the selected goals, and what became of the others.

use kit::clock::UtcMs;
use serde::Serialize;

use super::{RequirementView, RewardView, expires_at, instant};
use crate::catalog::{Catalog, ChallengeIndex};
use crate::rules::{GoalRow, Selected, progress, status};

/// The response to `batch-select` and `random-select`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectionView<'a> {
    /// The selected goals, in the order of the request or as drawn.
    pub selected_goals: Vec<SelectedGoalView<'a>>,
    pub challenge_id: &'a str,
    pub total_active_goals: i32,
    /// Goals that became inactive.
    pub replaced_goals: Vec<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectedGoalView<'a> {
    pub goal_id: &'a str,
    /// Display text.
    pub name: &'a str,
    /// Display text.
    pub description: &'a str,
    pub requirement: RequirementView<'a>,
    /// What it grants.
    pub reward: RewardView<'a>,
    /// The user's status.
    pub status: &'static str,
    /// Towards the target.
    pub progress: i32,
    /// Progress at which it is completed.
    pub target: i32,
    /// Always true.
    pub is_active: bool,
    /// When it was last made active.
    pub assigned_at: String,
    /// When its period ends.
    pub expires_at: String,
}

impl<'a> SelectionView<'a> {
    /// The response to a selection of a challenge's goals.
    #[must_use]
    pub fn new(catalog: &'a Catalog, challenge: ChallengeIndex, selected: &Selected) -> Self {
        let id = |goal| catalog.goal(goal).id.as_str();
        Self {
            selected_goals: selected.goals.iter().map(|row| goal(catalog, row, selected.at)).collect(),
            challenge_id: &catalog.challenge(challenge).id,
            total_active_goals: i32::try_from(selected.total_active).unwrap_or(i32::MAX),
            replaced_goals: selected.replaced.iter().map(|goal| id(*goal)).collect(),
        }
    }
}

fn goal<'a>(catalog: &'a Catalog, row: &GoalRow, now: UtcMs) -> SelectedGoalView<'a> {
    let goal = catalog.goal(row.goal);
    SelectedGoalView {
        goal_id: &goal.id,
        name: &goal.name,
        description: &goal.description,
        requirement: RequirementView::new(goal),
        reward: RewardView::new(&goal.reward),
        status: status(goal, row).name(),
        progress: progress(goal, row),
        target: goal.target,
        is_active: row.is_active,
        assigned_at: instant(row.assigned_at),
        expires_at: instant(expires_at(goal, now)),
    }
}
