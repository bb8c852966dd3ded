//! What events, `initialize` and `set active` do to a user's rows.

use super::{EventOrder, GoalRow, UserGoals, status};
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
        /// Where it stands among the others.
        order: EventOrder,
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

/// Values only ever rise, so one that arrives late and is older lowers nothing. A goal once completed stays so.
fn advance(goal: &Goal, row: &mut GoalRow, what: Happening, now: UtcMs) {
    let value = match what {
        Happening::Login => row.value.saturating_add(1),
        Happening::Statistic { latest, added, order } => {
            if goal.mode == Mode::Relative {
                begin_at(row, latest.saturating_sub(added).max(0), order);
            }
            row.value.max(latest)
        }
    };
    if value != row.value {
        row.value = value;
        row.is_changed = true;
    }
    if row.completed_at.is_none() && status::progress(goal, row) >= goal.target {
        row.completed_at = Some(now);
        row.is_changed = true;
    }
}

/// A relative goal begins at the value before its earliest event, in whatever order the events arrive.
fn begin_at(row: &mut GoalRow, baseline: i32, order: EventOrder) {
    let held = EventOrder { version: row.baseline_version, told_at: row.baseline_told_at };
    if row.baseline.is_none() || order.is_before(held) {
        row.baseline = Some(baseline);
        row.baseline_version = order.version;
        row.baseline_told_at = order.told_at;
        row.is_changed = true;
    }
}
