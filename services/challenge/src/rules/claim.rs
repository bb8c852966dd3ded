//! When a reward may be claimed.

use kit::clock::UtcMs;

use super::{GoalRow, UserGoals, is_locked, is_repeatable};
use crate::catalog::{Catalog, Goal, GoalIndex};

/// Why a claim is refused, in the order in which the reasons are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// The goal is not active for this user.
    NotActive,
    /// The reward of this period was granted before.
    AlreadyClaimed,
    /// The target is not reached.
    NotCompleted,
    /// A prerequisite is not completed.
    PrerequisitesUnmet,
}

/// The row whose reward may be granted now.
///
/// # Errors
/// The reason why it may not.
pub fn claimable<'a>(
    catalog: &Catalog,
    user: &'a UserGoals,
    goal: GoalIndex,
) -> Result<&'a GoalRow, ClaimRefusal> {
    let row = user.row(goal).filter(|row| row.is_active).ok_or(ClaimRefusal::NotActive)?;
    if row.claimed_at.is_some() {
        Err(ClaimRefusal::AlreadyClaimed)
    } else if row.completed_at.is_none() {
        Err(ClaimRefusal::NotCompleted)
    } else if is_locked(catalog, user, goal) {
        Err(ClaimRefusal::PrerequisitesUnmet)
    } else {
        Ok(row)
    }
}

/// Records in the goal's row that the reward of a period was granted at `now`. A goal that can be claimed again may have
/// been reset since the claim began: then the grant was that of the earlier period, and the row stays as it is.
pub fn end_claim(goal: &Goal, row: &mut GoalRow, period: i64, now: UtcMs) {
    if row.period != period && is_repeatable(goal) {
        return;
    }
    row.completed_at.get_or_insert(now);
    row.claimed_at = Some(now);
    row.is_changed = true;
}
