//! One goal in a list: what is everyone's, and what is the user's own.

use super::{instant, quoted};
use crate::catalog::{Catalog, Goal, GoalIx};
use crate::rules::{GoalRow, Status, UserGoals, is_locked, progress, status};
use kit::clock::UtcMs;
use std::fmt::Write;

/// `{"goalId":…` up to where the user's own fields begin.
pub(super) fn common(goal: &Goal) -> String {
    let prerequisites: Vec<String> = goal.prerequisite_ids.iter().map(|id| quoted(id)).collect();
    format!(
        r#"{{"goalId":{},"name":{},"description":{},{},"prerequisites":[{}],"#,
        quoted(&goal.id),
        quoted(&goal.name),
        quoted(&goal.description),
        requirement_and_reward(goal),
        prerequisites.join(",")
    )
}

/// `"requirement":{…},"reward":{…}`.
pub(super) fn requirement_and_reward(goal: &Goal) -> String {
    format!(
        r#""requirement":{{"statCode":{},"operator":">=","targetValue":{}}},{}"#,
        quoted(&goal.stat_code),
        goal.target,
        reward(goal)
    )
}

/// `"reward":{…}`.
pub(super) fn reward(goal: &Goal) -> String {
    let reward = &goal.reward;
    format!(
        r#""reward":{{"type":{},"rewardId":{},"quantity":{}}}"#,
        quoted(reward.kind),
        quoted(&reward.id),
        reward.quantity
    )
}

/// The user's own fields and the closing brace.
pub(super) fn own(out: &mut String, (catalog, user): (&Catalog, &UserGoals), ix: GoalIx, now: UtcMs) {
    let goal = catalog.goal(ix);
    let row = user.row(ix);
    let is_locked = is_locked(catalog, user, ix);
    let (progress, status) =
        row.map_or((0, Status::NotStarted), |row| (progress(goal, row), status(goal, row)));
    let time = |pick: fn(&GoalRow) -> Option<UtcMs>| instant(row.and_then(pick));
    let seconds_left = row.and_then(|row| row.expires_at).map_or(0, |end| (end.0 - now.0).max(0) / 1000);
    // Writing to a String cannot fail.
    let _infallible = write!(
        out,
        r#""progress":{progress},"status":"{}","locked":{is_locked},"completedAt":"{}","claimedAt":"{}","isActive":{},"expiresAt":"{}","expiresInSeconds":{seconds_left}}}"#,
        status.word(),
        time(|row| row.completed_at),
        time(|row| row.claimed_at),
        row.is_some_and(|row| row.is_active),
        time(|row| row.expires_at),
    );
}
