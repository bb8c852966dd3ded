//! Finds goals that wait for each other in a circle: such goals could never be unlocked.

use super::{Goal, GoalIx};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    OnPath,
    Done,
}

/// The first circle found, beginning and ending with the same goal.
///
/// A depth-first walk with a path of its own instead of recursion: a file may chain many thousand goals.
pub(super) fn cycle(goals: &[Goal]) -> Option<Vec<GoalIx>> {
    let mut marks = vec![Mark::New; goals.len()];
    for start in (0..).map(GoalIx).take(goals.len()) {
        if marks[start.0 as usize] == Mark::New
            && let Some(found) = walk(goals, &mut marks, start)
        {
            return Some(found);
        }
    }
    None
}

fn walk(goals: &[Goal], marks: &mut [Mark], start: GoalIx) -> Option<Vec<GoalIx>> {
    let mut path = vec![(start, 0)];
    marks[start.0 as usize] = Mark::OnPath;
    while let Some((goal, next)) = path.last_mut() {
        let Some(prerequisite) = goals[goal.0 as usize].prerequisites.get(*next).copied() else {
            marks[goal.0 as usize] = Mark::Done;
            path.pop();
            continue;
        };
        *next += 1;
        match marks[prerequisite.0 as usize] {
            Mark::Done => {}
            Mark::New => {
                marks[prerequisite.0 as usize] = Mark::OnPath;
                path.push((prerequisite, 0));
            }
            Mark::OnPath => {
                let from = path.iter().position(|(goal, _)| *goal == prerequisite).unwrap_or_default();
                let mut circle: Vec<GoalIx> = path[from..].iter().map(|(goal, _)| *goal).collect();
                circle.push(prerequisite);
                return Some(circle);
            }
        }
    }
    None
}
