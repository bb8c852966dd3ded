//! From JSON to challenges and goals: the shape of each, then the rules over the whole file.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::fields::{Fields, Problem, Problems};
use super::{Challenge, ChallengeIndex, EventSource, Goal, GoalIndex, ProgressMode, Reward, prerequisites};

const CHALLENGE_KEYS: [&str; 4] = ["challengeId", "name", "description", "goals"];
const GOAL_KEYS: [&str; 9] = [
    "goalId",
    "name",
    "description",
    "eventSource",
    "defaultAssigned",
    "requirement",
    "reward",
    "prerequisites",
    "rotation",
];
const REQUIREMENT_KEYS: [&str; 4] = ["statCode", "operator", "targetValue", "progressMode"];
const REWARD_KEYS: [&str; 3] = ["type", "rewardId", "quantity"];
const ROTATION_KEYS: [&str; 4] = ["enabled", "type", "schedule", "onExpiry"];
const ON_EXPIRY_KEYS: [&str; 2] = ["resetProgress", "allowReselection"];

/// Reads the whole file.
pub(super) fn challenges(value: &Value) -> Result<(Vec<Challenge>, Vec<Goal>), Vec<Problem>> {
    let problems = Problems::default();
    let mut challenges = Vec::new();
    let mut goals = Vec::new();
    let mut paths = Paths::default();
    if let Some(file) = Fields::of(value, String::new(), &["challenges"], &problems) {
        for entry in file.children("challenges", &CHALLENGE_KEYS) {
            let index = ChallengeIndex(challenges.len());
            challenges.push(challenge(&entry, index, &mut goals, &mut paths));
        }
    }
    check_unique(paths.challenges.iter().zip(challenges.iter().map(|c| &c.id)), &problems);
    check_unique(paths.goals.iter().zip(goals.iter().map(|g| &g.id)), &problems);
    resolve_prerequisites(&mut goals, &paths.goals, &problems);
    let found = problems.into_vec();
    if found.is_empty() { Ok((challenges, goals)) } else { Err(found) }
}

/// The path of each challenge and goal in the file.
#[derive(Default)]
struct Paths {
    challenges: Vec<String>,
    goals: Vec<String>,
}

fn challenge(
    entry: &Fields<'_>,
    index: ChallengeIndex,
    goals: &mut Vec<Goal>,
    paths: &mut Paths,
) -> Challenge {
    let first = goal_number(goals.len());
    paths.challenges.push(entry.at("challengeId"));
    for fields in entry.children("goals", &GOAL_KEYS) {
        paths.goals.push(fields.path.clone());
        goals.push(goal(&fields, index));
    }
    Challenge {
        id: entry.id("challengeId"),
        name: entry.text("name"),
        description: entry.optional_text("description"),
        goals: first..goal_number(goals.len()),
    }
}

/// Files are limited to 64 MiB, so the number of goals is far below 2³².
fn goal_number(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn goal(fields: &Fields<'_>, challenge: ChallengeIndex) -> Goal {
    let source =
        fields.choice("eventSource", &[("statistic", EventSource::Statistic), ("login", EventSource::Login)]);
    let requirement = match fields.required("requirement", &REQUIREMENT_KEYS) {
        Some(requirement) => read_requirement(&requirement),
        None => Requirement { stat_code: String::new(), target: 1, mode: ProgressMode::Absolute },
    };
    refuse_rotation(fields, requirement.mode);
    Goal {
        id: fields.id("goalId"),
        name: fields.text("name"),
        description: fields.optional_text("description"),
        source,
        is_default: fields.flag("defaultAssigned"),
        stat_code: requirement.stat_code,
        target: requirement.target,
        mode: requirement.mode,
        reward: reward(fields),
        prerequisite_ids: fields.texts("prerequisites"),
        prerequisites: Vec::new(),
        challenge,
    }
}

/// What a goal requires.
struct Requirement {
    stat_code: String,
    target: i32,
    mode: ProgressMode,
}

fn read_requirement(requirement: &Fields<'_>) -> Requirement {
    requirement.choice("operator", &[(">=", ())]);
    let modes = [("absolute", ProgressMode::Absolute), ("relative", ProgressMode::Relative)];
    let mode = requirement.choice_or_first("progressMode", &modes);
    Requirement {
        stat_code: requirement.id("statCode"),
        target: requirement.integer("targetValue", 1..=i32::MAX),
        mode,
    }
}

fn reward(goal: &Fields<'_>) -> Reward {
    let Some(fields) = goal.required("reward", &REWARD_KEYS) else {
        return Reward { kind: "ITEM", id: String::new(), quantity: 1 };
    };
    Reward {
        kind: fields.choice("type", &[("ITEM", "ITEM"), ("WALLET", "WALLET")]),
        id: fields.id("rewardId"),
        quantity: fields.integer("quantity", 1..=i32::MAX),
    }
}

/// Rotation is not offered: a file that relies on it must not be accepted.
fn refuse_rotation(goal: &Fields<'_>, mode: ProgressMode) {
    let Some(rotation) = goal.child("rotation", &ROTATION_KEYS) else { return };
    if let Some(on_expiry) = rotation.child("onExpiry", &ON_EXPIRY_KEYS) {
        on_expiry.flag("resetProgress");
        on_expiry.flag("allowReselection");
    }
    if !rotation.flag("enabled") {
        return;
    }
    rotation.choice("type", &[("global", ())]);
    rotation.choice("schedule", &[("daily", ()), ("weekly", ()), ("monthly", ())]);
    if mode != ProgressMode::Relative {
        rotation.invalid("enabled", "needs requirement.progressMode relative");
    }
    rotation.invalid("enabled", "rotation is not offered by this version; remove it or set it to false");
}

fn check_unique<'a>(ids: impl Iterator<Item = (&'a String, &'a String)>, problems: &Problems) {
    let mut seen = HashSet::new();
    for (path, id) in ids.filter(|(_, id)| !id.is_empty()) {
        if !seen.insert(id) {
            problems.add(path, format!("{id:?} is used twice; ids are unique over the whole file"));
        }
    }
}

fn resolve_prerequisites(goals: &mut [Goal], paths: &[String], problems: &Problems) {
    let indexes: HashMap<String, GoalIndex> =
        goals.iter().zip(0..).map(|(g, i)| (g.id.clone(), GoalIndex(i))).collect();
    for (goal, path) in goals.iter_mut().zip(paths) {
        for (i, id) in goal.prerequisite_ids.iter().enumerate() {
            match indexes.get(id) {
                Some(index) => goal.prerequisites.push(*index),
                None => {
                    problems.add(format!("{path}.prerequisites[{i}]"), format!("no goal has the id {id:?}"))
                }
            }
        }
    }
    if let Some(cycle) = prerequisites::cycle(goals) {
        let names: Vec<&str> = cycle.iter().map(|index| goals[index.0 as usize].id.as_str()).collect();
        let path = format!("{}.prerequisites", paths[cycle[0].0 as usize]);
        problems.add(path, format!("the prerequisites form a cycle: {}", names.join(" -> ")));
    }
}
