//! The answer to `initialize`: the user's active goals.

use super::{goal, instant, quoted};
use crate::catalog::{Catalog, GoalIx};
use crate::rules::{GoalRow, UserGoals, progress, status};
use crate::store::Initialized;
use std::fmt::Write;

/// Each goal's unchanging parts.
pub struct InitializeTemplate {
    goals: Vec<GoalTexts>,
}

struct GoalTexts {
    /// Up to `"isActive":`.
    before: String,
    /// From `,"requirement"` on.
    after: String,
}

impl InitializeTemplate {
    /// Prepares the goals of a catalogue.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        let texts = |(_, goal): (GoalIx, &crate::catalog::Goal)| GoalTexts {
            before: format!(
                r#"{{"challengeId":{},"goalId":{},"name":{},"description":{},"isActive":"#,
                quoted(&catalog.challenges[goal.challenge].id),
                quoted(&goal.id),
                quoted(&goal.name),
                quoted(&goal.description)
            ),
            after: format!(",{}}}", goal::requirement_and_reward(goal)),
        };
        Self { goals: catalog.goals().map(texts).collect() }
    }

    /// The answer's text.
    #[must_use]
    pub fn render(&self, catalog: &Catalog, done: &Initialized) -> String {
        let active = active(&done.goals);
        let mut out = String::with_capacity(512 * active.len() + 64);
        out += r#"{"assignedGoals":["#;
        for (place, row) in active.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            self.goal(&mut out, catalog, row);
        }
        let _infallible =
            write!(out, r#"],"newAssignments":{},"totalActive":{}}}"#, done.new_assignments, active.len());
        out
    }

    fn goal(&self, out: &mut String, catalog: &Catalog, row: &GoalRow) {
        let texts = &self.goals[row.goal.0 as usize];
        let goal = catalog.goal(row.goal);
        let _infallible = write!(
            out,
            r#"{}{},"assignedAt":"{}","expiresAt":"{}","progress":{},"target":{},"status":"{}"{}"#,
            texts.before,
            row.is_active,
            instant(row.assigned_at),
            instant(row.expires_at),
            progress(goal, row),
            goal.target,
            status(goal, row).word(),
            texts.after
        );
    }
}

fn active(goals: &UserGoals) -> Vec<&GoalRow> {
    goals.rows().iter().filter(|row| row.is_active).collect()
}
