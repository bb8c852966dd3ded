//! The state of a user: one row for each goal that the user was ever assigned.

use kit::clock::UtcMs;

use crate::catalog::GoalIndex;

/// The state of one user's goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalRow {
    pub goal: GoalIndex,
    /// The statistic's highest value seen, or the logins counted; never lowered within a period.
    pub value: i32,
    /// The value at which a relative goal began; unknown until its first event.
    pub baseline: Option<i32>,
    /// The version of the baseline's event, if it had one: an earlier event moves the baseline.
    pub baseline_version: Option<i64>,
    /// When the baseline's event happened, if known.
    pub baseline_occurred_at: Option<UtcMs>,
    /// Whether events move it and a claim is allowed.
    pub is_active: bool,
    /// When it was last made active.
    pub assigned_at: Option<UtcMs>,
    /// When progress first reached the target in this period.
    pub completed_at: Option<UtcMs>,
    /// When the reward was granted in this period.
    pub claimed_at: Option<UtcMs>,
    /// Start of the rotation period that this row belongs to, in UTC milliseconds; 0 for goals that are never reset.
    pub period: i64,
    /// When the event happened that a goal counted last which counts once a day.
    pub counted_at: Option<UtcMs>,
    /// Whether this differs from the stored row.
    pub is_changed: bool,
}

impl GoalRow {
    /// A row for a goal that was just assigned to a user.
    #[must_use]
    pub fn new(goal: GoalIndex) -> Self {
        Self {
            goal,
            value: 0,
            baseline: None,
            baseline_version: None,
            baseline_occurred_at: None,
            is_active: false,
            assigned_at: None,
            completed_at: None,
            claimed_at: None,
            period: 0,
            counted_at: None,
            is_changed: true,
        }
    }
}

/// A user's rows in document order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserGoals {
    rows: Vec<GoalRow>,
}

impl UserGoals {
    /// From rows in any order; of two rows for one goal the first in the given order is kept.
    #[must_use]
    pub fn new(mut rows: Vec<GoalRow>) -> Self {
        rows.sort_by_key(|row| row.goal);
        rows.dedup_by_key(|row| row.goal);
        Self { rows }
    }

    /// All rows in document order.
    #[must_use]
    pub fn rows(&self) -> &[GoalRow] {
        &self.rows
    }

    /// All rows in document order, mutable.
    pub fn rows_mut(&mut self) -> &mut [GoalRow] {
        &mut self.rows
    }

    /// All rows in document order.
    #[must_use]
    pub fn into_rows(self) -> Vec<GoalRow> {
        self.rows
    }

    /// The row of a goal, if the user has one.
    #[must_use]
    pub fn row(&self, goal: GoalIndex) -> Option<&GoalRow> {
        self.position(goal).ok().map(|position| &self.rows[position])
    }

    /// The row of a goal, mutable.
    pub fn row_mut(&mut self, goal: GoalIndex) -> Option<&mut GoalRow> {
        self.position(goal).ok().map(|position| &mut self.rows[position])
    }

    /// The row of a goal, inserted if there was none.
    pub fn row_or_new(&mut self, goal: GoalIndex) -> &mut GoalRow {
        let position = self.position(goal).unwrap_or_else(|gap| {
            self.rows.insert(gap, GoalRow::new(goal));
            gap
        });
        &mut self.rows[position]
    }

    fn position(&self, goal: GoalIndex) -> Result<usize, usize> {
        self.rows.binary_search_by_key(&goal, |row| row.goal)
    }
}
