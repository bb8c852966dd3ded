//! How events, `initialize` and `set active` change a user's rows.

use kit::clock::UtcMs;

use super::rotation::row_or_new;
use super::{EventOrder, GoalRow, UserGoals, status};
use crate::catalog::{Catalog, Goal, GoalIndex, ProgressMode, Trigger, day};

/// What happened to a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoalEvent {
    /// The user logged in.
    Login {
        /// Its order among logins.
        order: EventOrder,
    },
    Statistic {
        /// Its value after the change, at least 0.
        latest: i32,
        /// How much the change added; 0 when absent.
        added: i32,
        /// Its order among the events of the statistic.
        order: EventOrder,
    },
}

impl GoalEvent {
    fn order(self) -> EventOrder {
        match self {
            Self::Login { order } | Self::Statistic { order, .. } => order,
        }
    }
}

/// An event, and the goals that it may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggeredEvent {
    /// Which goals.
    pub trigger: Trigger,
    pub event: GoalEvent,
}

/// The argument of `set active`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Make it active.
    On,
    /// Make it inactive.
    Off,
}

/// A goal to be made active or inactive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivityChange {
    pub goal: GoalIndex,
    /// Which of the two.
    pub activation: Activation,
}

/// Assigns every default goal that has no row yet; returns how many were assigned.
///
/// A default goal that the user made inactive has a row and stays inactive.
pub fn assign_defaults(catalog: &Catalog, user: &mut UserGoals, now: UtcMs) -> u32 {
    let mut assigned = 0;
    for goal in catalog.defaults() {
        if user.row(*goal).is_none() {
            activate(row_or_new(catalog, user, *goal, now), now);
            assigned += 1;
        }
    }
    assigned
}

/// Makes a goal active or inactive. Setting the same state again changes nothing.
pub fn set_active<'a>(
    catalog: &Catalog,
    user: &'a mut UserGoals,
    ActivityChange { goal, activation }: ActivityChange,
    now: UtcMs,
) -> &'a GoalRow {
    let row = row_or_new(catalog, user, goal, now);
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

/// Moves the goals of the event's trigger that the user has, that are active and not yet claimed. An event that happened
/// before the row's period began does not move it.
pub fn apply(catalog: &Catalog, user: &mut UserGoals, event: TriggeredEvent, now: UtcMs) {
    let happened_at = event.event.order().occurred_at;
    for goal in catalog.triggered(event.trigger) {
        let Some(row) = user.row_mut(*goal) else { continue };
        let is_of_period = happened_at.is_none_or(|at| at.0 >= row.period);
        if row.is_active && row.claimed_at.is_none() && is_of_period {
            advance(catalog.goal(*goal), row, event.event, now);
        }
    }
}

/// The value only rises, so an older value that arrives late does not lower it. A completed goal stays completed.
fn advance(goal: &Goal, row: &mut GoalRow, event: GoalEvent, now: UtcMs) {
    let value = match (event, goal.mode) {
        (GoalEvent::Statistic { latest, .. }, ProgressMode::Absolute) => row.value.max(latest),
        (GoalEvent::Statistic { latest, added, order }, ProgressMode::Relative) => {
            set_baseline(row, latest.saturating_sub(added).max(0), order);
            row.value.max(latest)
        }
        (_, ProgressMode::EachDay) if !begins_a_day(row, event, now) => row.value,
        _ => row.value.saturating_add(1),
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

/// Whether the event is the first of its day in UTC, and then remembers that. An event without a time, or with one that
/// is still to come, is one of today. An event of a day before the last one counted does not count: that day may have.
fn begins_a_day(row: &mut GoalRow, event: GoalEvent, now: UtcMs) -> bool {
    let happened_at = event.order().occurred_at.map_or(now, |at| at.min(now));
    let is_first = row.counted_at.is_none_or(|last| day(last) < day(happened_at));
    if is_first {
        row.counted_at = Some(happened_at);
        row.is_changed = true;
    }
    is_first
}

/// The baseline of a relative goal is the value before its earliest event, in whatever order the events arrive.
fn set_baseline(row: &mut GoalRow, baseline: i32, order: EventOrder) {
    let current = EventOrder { version: row.baseline_version, occurred_at: row.baseline_occurred_at };
    if row.baseline.is_none() || order.is_before(current) {
        row.baseline = Some(baseline);
        row.baseline_version = order.version;
        row.baseline_occurred_at = order.occurred_at;
        row.is_changed = true;
    }
}
