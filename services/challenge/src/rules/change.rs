//! What events, `initialize` and `set active` do to a user's rows.

use super::{GoalRow, UserGoals, status};
use crate::catalog::{Catalog, Goal, GoalIx, Mode};
use kit::clock::UtcMs;

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happening {
    /// The user logged in.
    Login,
    /// A statistic changed.
    Statistic {
        /// Its value after the change, at least 0.
        latest: i32,
        /// How much the change added; 0 when not told.
        added: i32,
    },
}

/// The two things that `set active` can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Make it active.
    On,
    /// Make it inactive.
    Off,
}

/// Gives the user every default goal that has no row yet; returns how many were given.
///
/// A default goal that the user made inactive has a row and stays as it is.
pub fn assign_defaults(catalog: &Catalog, user: &mut UserGoals, now: UtcMs) -> u32 {
    let mut given = 0;
    for goal in catalog.defaults() {
        if user.row(*goal).is_none() {
            activate(user.row_or_new(*goal), now);
            given += 1;
        }
    }
    given
}

/// Makes a goal active or inactive. Asking for what already is changes nothing.
pub fn set_active(user: &mut UserGoals, goal: GoalIx, activation: Activation, now: UtcMs) -> &GoalRow {
    let row = user.row_or_new(goal);
    match activation {
        Activation::On if !row.is_active => activate(row, now),
        Activation::Off if row.is_active => {
            row.is_active = false;
            row.is_changed = true;
        }
        _ => {}
    }
    row
}

fn activate(row: &mut GoalRow, now: UtcMs) {
    row.is_active = true;
    row.assigned_at = Some(now);
    row.is_changed = true;
}

/// Moves those of `goals` that the user has, that are active and not yet claimed.
pub fn apply(catalog: &Catalog, user: &mut UserGoals, (goals, what): (&[GoalIx], Happening), now: UtcMs) {
    for ix in goals {
        let Some(row) = user.row_mut(*ix) else { continue };
        if row.is_active && row.claimed_at.is_none() {
            advance(catalog.goal(*ix), row, what, now);
        }
    }
}

/// A relative goal's first event tells the value that it began at: the latest less what the event added. Later
/// events only ever raise the value, so an older one that arrives late lowers nothing.
fn advance(goal: &Goal, row: &mut GoalRow, what: Happening, now: UtcMs) {
    let (value, baseline) = match what {
        Happening::Login => (row.value.saturating_add(1), row.baseline),
        Happening::Statistic { latest, added } => {
            let began_at = (goal.mode == Mode::Relative).then(|| latest.saturating_sub(added).max(0));
            (row.value.max(latest), row.baseline.or(began_at))
        }
    };
    if (value, baseline) != (row.value, row.baseline) {
        (row.value, row.baseline) = (value, baseline);
        row.is_changed = true;
    }
    if row.completed_at.is_none() && status::progress(goal, row) >= goal.target {
        row.completed_at = Some(now);
        row.is_changed = true;
    }
}
