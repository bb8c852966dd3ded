//! One goal in a list: the fields that are the same for every user, and the user's own fields.

use std::fmt::Write;

use super::{json, quoted};
use crate::catalog::Goal;
use crate::view::{GoalView, RequirementView, RewardView, instant};

/// `{"goalId":…` up to where the user's own fields begin.
pub(super) fn shared_fields(goal: &Goal) -> String {
    format!(
        r#"{{"goalId":{},"name":{},"description":{},{},"prerequisites":{},"#,
        quoted(&goal.id),
        quoted(&goal.name),
        quoted(&goal.description),
        requirement_and_reward(goal),
        json(&goal.prerequisite_ids)
    )
}

/// `"requirement":{…},"reward":{…}`.
pub(super) fn requirement_and_reward(goal: &Goal) -> String {
    let (requirement, reward) = (RequirementView::new(goal), RewardView::new(&goal.reward));
    format!(r#""requirement":{},"reward":{}"#, json(&requirement), json(&reward))
}

/// The user's own fields and the closing brace.
pub(super) fn user_fields(out: &mut String, view: &GoalView<'_>) {
    // Writing to a String cannot fail.
    let _infallible = write!(
        out,
        r#""progress":{},"status":"{}","locked":{},"completedAt":"{}","claimedAt":"{}","isActive":{},"expiresAt":"{}","expiresInSeconds":{}}}"#,
        view.progress,
        view.status.name(),
        view.is_locked,
        instant(view.completed_at),
        instant(view.claimed_at),
        view.is_active,
        instant(view.expires_at),
        view.expires_in_s,
    );
}
