//! What the end of a period does to a user's rows. They are brought up to date each time that they are read, so that
//! nothing has to run at the boundary itself.

use kit::clock::UtcMs;

use super::{GoalRow, UserGoals};
use crate::catalog::{Catalog, Goal, GoalIndex, Resets};

/// Brings a user's rows up to date at `now`.
///
/// A row belongs to the period that it was last reset in, or assigned in, and only moves on to later ones: a clock that
/// is set back, or a replica whose clock is behind, reopens nothing.
pub fn rotate(catalog: &Catalog, user: &mut UserGoals, now: UtcMs) {
    if catalog.rotating().is_empty() {
        return;
    }
    for row in user.rows_mut() {
        begin_period(catalog.goal(row.goal), row, now);
    }
}

/// The goal's row, inserted into the current period if there was none.
pub(super) fn row_or_new<'a>(
    catalog: &Catalog,
    user: &'a mut UserGoals,
    goal: GoalIndex,
    now: UtcMs,
) -> &'a mut GoalRow {
    let row = user.row_or_new(goal);
    begin_period(catalog.goal(goal), row, now);
    row
}

/// What a row of an earlier period contains is reset, as its goal says. A row without progress is not written for that:
/// it is the same in every period.
fn begin_period(goal: &Goal, row: &mut GoalRow, now: UtcMs) {
    let Some(rotation) = goal.rotation else { return };
    let is_reset = match rotation.resets {
        Resets::Nothing => false,
        Resets::Unclaimed => row.claimed_at.is_none(),
        Resets::Everything => true,
    };
    let start = rotation.schedule.period(now).start.0;
    if !is_reset || row.period >= start {
        return;
    }
    let has_progress = row.value != 0 || row.baseline.is_some() || row.completed_at.is_some();
    row.is_changed |= has_progress;
    row.period = start;
    row.value = 0;
    row.baseline = None;
    row.baseline_version = None;
    row.baseline_occurred_at = None;
    row.completed_at = None;
    row.claimed_at = None;
}

/// Whether the goal's reward can be claimed again in another period.
#[must_use]
pub fn is_repeatable(goal: &Goal) -> bool {
    goal.rotation.is_some_and(|rotation| rotation.resets == Resets::Everything)
}

#[cfg(test)]
mod tests;
