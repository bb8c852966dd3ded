//! The response to `initialize`: the user's active goals.

use std::fmt::Write;

use super::{goal, quoted};
use crate::catalog::{Catalog, Goal, GoalIndex};
use crate::store::Initialized;
use crate::view::{AssignedView, assigned, instant};

/// The parts of each goal that are the same for every user.
pub struct InitializeTemplate {
    goals: Vec<GoalTexts>,
}

struct GoalTexts {
    /// Up to `"assignedAt":`.
    before: String,
    /// From `,"requirement"` on.
    after: String,
}

impl InitializeTemplate {
    /// Prepares the goals of a catalogue.
    #[must_use]
    pub fn new(catalog: &Catalog) -> Self {
        let texts = |(_, goal): (GoalIndex, &Goal)| GoalTexts {
            before: format!(
                r#"{{"challengeId":{},"goalId":{},"name":{},"description":{},"isActive":true,"assignedAt":"#,
                quoted(&catalog.challenge_of(goal).id),
                quoted(&goal.id),
                quoted(&goal.name),
                quoted(&goal.description)
            ),
            after: format!(",{}}}", goal::requirement_and_reward(goal)),
        };
        Self { goals: catalog.goals().map(texts).collect() }
    }

    /// The response's text.
    #[must_use]
    pub fn render(&self, catalog: &Catalog, result: &Initialized) -> String {
        let active = assigned(catalog, result);
        let mut out = String::with_capacity(512 * active.len() + 64);
        out += r#"{"assignedGoals":["#;
        for (position, view) in active.iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            self.goal(&mut out, view);
        }
        let _infallible =
            write!(out, r#"],"newAssignments":{},"totalActive":{}}}"#, result.new_assignments, active.len());
        out
    }

    fn goal(&self, out: &mut String, view: &AssignedView<'_>) {
        let texts = &self.goals[view.index.0 as usize];
        let _infallible = write!(
            out,
            r#"{}"{}","expiresAt":"{}","progress":{},"target":{},"status":"{}"{}"#,
            texts.before,
            instant(view.assigned_at),
            instant(view.expires_at),
            view.progress,
            view.goal.target,
            view.status.name(),
            texts.after
        );
    }
}
