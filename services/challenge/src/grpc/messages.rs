//! From views to gRPC messages, field by field.

use kit::clock::UtcMs;

use crate::catalog::{Catalog, Challenge, Goal, GoalIndex};
use crate::proto::service as proto;
use crate::rules::UserGoals;
use crate::view::{AssignedView, GoalFilter, GoalView, RequirementView, RewardView, instant};

pub(super) fn challenges(
    catalog: &Catalog,
    user: &UserGoals,
    filter: GoalFilter,
    now: UtcMs,
) -> Vec<proto::Challenge> {
    let goals = |range: std::ops::Range<u32>| {
        let included = range.map(GoalIndex).filter(|index| filter.includes(user, *index));
        included.map(|index| goal(GoalView::of(catalog, user, index, now))).collect()
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
        requirement: Some(requirement(view.goal)),
        reward: Some(reward(RewardView::of(&view.goal.reward))),
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
        requirement: Some(requirement(view.goal)),
        reward: Some(reward(RewardView::of(&view.goal.reward))),
    }
}

fn requirement(goal: &Goal) -> proto::Requirement {
    let view = RequirementView::of(goal);
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
