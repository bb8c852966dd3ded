//! From views to gRPC messages, field by field.

use kit::clock::UtcMs;

use crate::catalog::{Catalog, Challenge, GoalIndex};
use crate::proto::service as proto;
use crate::rules::UserGoals;
use crate::view::{
    AssignedView, GoalFilter, GoalView, PeriodView, RequirementView, RewardView, RotationStatus,
    SelectedGoalView, SelectionView, instant,
};

pub(super) fn challenges(
    catalog: &Catalog,
    user: &UserGoals,
    filter: GoalFilter,
    now: UtcMs,
) -> Vec<proto::Challenge> {
    let goals = |range: std::ops::Range<u32>| {
        let included = range.map(GoalIndex).filter(|index| filter.includes(user, *index));
        included.map(|index| goal(GoalView::new(catalog, user, index, now))).collect()
    };
    let message = |challenge: &Challenge| proto::Challenge {
        challenge_id: challenge.id.clone(),
        name: challenge.name.clone(),
        description: challenge.description.clone(),
        goals: goals(challenge.goals.clone()),
    };
    catalog.challenges.iter().map(message).collect()
}

fn goal(view: GoalView<'_>) -> proto::Goal {
    proto::Goal {
        goal_id: view.goal.id.clone(),
        name: view.goal.name.clone(),
        description: view.goal.description.clone(),
        requirement: Some(requirement(RequirementView::new(view.goal))),
        reward: Some(reward(RewardView::new(&view.goal.reward))),
        prerequisites: view.goal.prerequisite_ids.clone(),
        progress: view.progress,
        status: view.status.name().to_owned(),
        locked: view.is_locked,
        completed_at: instant(view.completed_at),
        claimed_at: instant(view.claimed_at),
        is_active: view.is_active,
        expires_at: instant(view.expires_at),
        expires_in_seconds: view.expires_in_s,
    }
}

pub(super) fn assigned(view: AssignedView<'_>) -> proto::AssignedGoal {
    proto::AssignedGoal {
        challenge_id: view.challenge_id.to_owned(),
        goal_id: view.goal.id.clone(),
        name: view.goal.name.clone(),
        description: view.goal.description.clone(),
        is_active: true,
        assigned_at: instant(view.assigned_at),
        expires_at: instant(view.expires_at),
        progress: view.progress,
        target: view.goal.target,
        status: view.status.name().to_owned(),
        requirement: Some(requirement(RequirementView::new(view.goal))),
        reward: Some(reward(RewardView::new(&view.goal.reward))),
    }
}

fn requirement(view: RequirementView<'_>) -> proto::Requirement {
    proto::Requirement {
        stat_code: view.stat_code.to_owned(),
        operator: view.operator.to_owned(),
        target_value: view.target_value,
    }
}

pub(super) fn reward(view: RewardView<'_>) -> proto::Reward {
    proto::Reward {
        r#type: view.r#type.to_owned(),
        reward_id: view.reward_id.to_owned(),
        quantity: view.quantity,
    }
}

pub(super) fn selection(view: SelectionView<'_>) -> proto::GoalSelectionResponse {
    proto::GoalSelectionResponse {
        selected_goals: view.selected_goals.into_iter().map(selected).collect(),
        challenge_id: view.challenge_id.to_owned(),
        total_active_goals: view.total_active_goals,
        replaced_goals: view.replaced_goals.into_iter().map(str::to_owned).collect(),
    }
}

fn selected(view: SelectedGoalView<'_>) -> proto::SelectedGoal {
    proto::SelectedGoal {
        goal_id: view.goal_id.to_owned(),
        name: view.name.to_owned(),
        description: view.description.to_owned(),
        requirement: Some(requirement(view.requirement)),
        reward: Some(reward(view.reward)),
        status: view.status.to_owned(),
        progress: view.progress,
        target: view.target,
        is_active: view.is_active,
        assigned_at: view.assigned_at,
        expires_at: view.expires_at,
    }
}

pub(super) fn rotation(view: RotationStatus<'_>) -> proto::GetRotationStatusResponse {
    let rotation = view.rotation;
    proto::GetRotationStatusResponse {
        challenge_id: view.challenge_id.to_owned(),
        rotation: Some(proto::RotationInfo {
            enabled: rotation.enabled,
            r#type: rotation.r#type.to_owned(),
            schedule: rotation.schedule.to_owned(),
            current_period: Some(period(rotation.current_period)),
            next_period: Some(period(rotation.next_period)),
        }),
    }
}

fn period(view: PeriodView) -> proto::RotationPeriod {
    proto::RotationPeriod {
        start_time: view.start_time,
        end_time: view.end_time,
        expires_in_seconds: view.expires_in_seconds,
    }
}
