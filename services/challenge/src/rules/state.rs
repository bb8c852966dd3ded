//! What is kept of a user: one row for each goal that the user has ever been assigned.

use crate::catalog::GoalIx;
use kit::clock::UtcMs;

/// What is kept of one user's goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoalRow {
    /// Which goal.
    pub goal: GoalIx,
    /// The statistic's highest value seen, or the logins counted; never lowered within a period.
    pub value: i32,
    /// The value at which a relative goal began; unknown until its first event.
    pub baseline: Option<i32>,
    /// The version that the baseline's event told, when it told one: an earlier event moves the baseline.
    pub baseline_version: Option<i64>,
    /// When the baseline's event happened, when it told so.
    pub baseline_told_at: Option<UtcMs>,
    /// Whether events move it and a claim is allowed.
    pub is_active: bool,
    /// When it was last made active.
    pub assigned_at: Option<UtcMs>,
    /// When progress first reached the target in this period.
    pub completed_at: Option<UtcMs>,
    /// When the reward was granted in this period.
    pub claimed_at: Option<UtcMs>,
    /// Start of the rotation period that this row belongs to, in UTC milliseconds; 0 for goals that never rotate.
    pub period: i64,
    /// When the period ends, for goals that rotate.
    pub expires_at: Option<UtcMs>,
    /// Whether this differs from what the store holds.
    pub is_changed: bool,
}

impl GoalRow {
    /// A row for a goal that was just given to a user.
    #[must_use]
    pub fn new(goal: GoalIx) -> Self {
        Self {
            goal,
            value: 0,
            baseline: None,
            baseline_version: None,
            baseline_told_at: None,
            is_active: false,
            assigned_at: None,
            completed_at: None,
            claimed_at: None,
            period: 0,
            expires_at: None,
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

    /// All rows, in document order, given away.
    #[must_use]
    pub fn into_rows(self) -> Vec<GoalRow> {
        self.rows
    }

    /// The row of a goal, if the user has one.
    #[must_use]
    pub fn row(&self, goal: GoalIx) -> Option<&GoalRow> {
        self.place(goal).ok().map(|place| &self.rows[place])
    }

    /// The row of a goal, to be changed.
    pub fn row_mut(&mut self, goal: GoalIx) -> Option<&mut GoalRow> {
        self.place(goal).ok().map(|place| &mut self.rows[place])
    }

    /// The row of a goal, made when there was none.
    pub fn row_or_new(&mut self, goal: GoalIx) -> &mut GoalRow {
        let place = self.place(goal).unwrap_or_else(|gap| {
            self.rows.insert(gap, GoalRow::new(goal));
            gap
        });
        &mut self.rows[place]
    }

    fn place(&self, goal: GoalIx) -> Result<usize, usize> {
        self.rows.binary_search_by_key(&goal, |row| row.goal)
    }
}
