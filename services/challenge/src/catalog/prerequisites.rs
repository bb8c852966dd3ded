//! Finds cycles of prerequisites: goals in a cycle could never be unlocked.

use super::{Goal, GoalIndex};

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    New,
    OnPath,
    Done,
}

/// The first cycle found, beginning and ending with the same goal.
///
/// A depth-first search with an explicit path instead of recursion: a file may chain many thousand goals.
pub(super) fn cycle(goals: &[Goal]) -> Option<Vec<GoalIndex>> {
    let mut states = vec![VisitState::New; goals.len()];
    for start in (0..).map(GoalIndex).take(goals.len()) {
        if states[start.0 as usize] == VisitState::New
            && let Some(found) = search(goals, &mut states, start)
        {
            return Some(found);
        }
    }
    None
}

fn search(goals: &[Goal], states: &mut [VisitState], start: GoalIndex) -> Option<Vec<GoalIndex>> {
    let mut path = vec![(start, 0)];
    states[start.0 as usize] = VisitState::OnPath;
    while let Some((goal, next)) = path.last_mut() {
        let Some(prerequisite) = goals[goal.0 as usize].prerequisites.get(*next).copied() else {
            states[goal.0 as usize] = VisitState::Done;
            path.pop();
            continue;
        };
        *next += 1;
        match states[prerequisite.0 as usize] {
            VisitState::Done => {}
            VisitState::New => {
                states[prerequisite.0 as usize] = VisitState::OnPath;
                path.push((prerequisite, 0));
            }
            VisitState::OnPath => {
                let from = path.iter().position(|(goal, _)| *goal == prerequisite).unwrap_or_default();
                let mut cycle: Vec<GoalIndex> = path[from..].iter().map(|(goal, _)| *goal).collect();
                cycle.push(prerequisite);
                return Some(cycle);
            }
        }
    }
    None
}
