//! When a reward may be claimed.

use kit::clock::UtcMs;

use super::{GoalRow, UserGoals, is_locked};
use crate::catalog::{Catalog, GoalIndex};

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

/// Records that the reward was granted.
pub fn mark_claimed(user: &mut UserGoals, goal: GoalIndex, now: UtcMs) {
    let row = user.row_or_new(goal);
    row.completed_at.get_or_insert(now);
    row.claimed_at = Some(now);
    row.is_changed = true;
}
