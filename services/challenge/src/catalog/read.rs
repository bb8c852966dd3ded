//! From JSON to challenges and goals: shape, then what must hold over the whole file.

use super::fields::{Fields, Problem, Problems};
use super::{Challenge, Goal, GoalIx, Mode, Reward, Source, prerequisites};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

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
            challenges.push(challenge(&entry, (challenges.len(), &mut goals), &mut paths));
        }
    }
    check_unique(paths.challenges.iter().zip(challenges.iter().map(|c| &c.id)), &problems);
    check_unique(paths.goals.iter().zip(goals.iter().map(|g| &g.id)), &problems);
    resolve_prerequisites(&mut goals, &paths.goals, &problems);
    let found = problems.into_vec();
    if found.is_empty() { Ok((challenges, goals)) } else { Err(found) }
}

/// Where each challenge and goal stands in the file.
#[derive(Default)]
struct Paths {
    challenges: Vec<String>,
    goals: Vec<String>,
}

fn challenge(entry: &Fields<'_>, (place, goals): (usize, &mut Vec<Goal>), paths: &mut Paths) -> Challenge {
    let first = place_of(goals.len());
    paths.challenges.push(entry.at("challengeId"));
    for fields in entry.children("goals", &GOAL_KEYS) {
        paths.goals.push(fields.path.clone());
        goals.push(goal(&fields, place));
    }
    Challenge {
        id: entry.id("challengeId"),
        name: entry.text("name"),
        description: entry.optional_text("description"),
        goals: first..place_of(goals.len()),
    }
}

/// Files are bounded to 64 MiB, so goals are fewer than 2³² by far.
fn place_of(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn goal(fields: &Fields<'_>, challenge: usize) -> Goal {
    let source = fields.word("eventSource", &[("statistic", Source::Statistic), ("login", Source::Login)]);
    let (stat_code, target, mode) = match fields.required("requirement", &REQUIREMENT_KEYS) {
        Some(requirement) => read_requirement(&requirement),
        None => (String::new(), 1, Mode::Absolute),
    };
    refuse_rotation(fields, mode);
    Goal {
        id: fields.id("goalId"),
        name: fields.text("name"),
        description: fields.optional_text("description"),
        source,
        is_default: fields.flag("defaultAssigned"),
        stat_code,
        target,
        mode,
        reward: reward(fields),
        prerequisite_ids: fields.texts("prerequisites"),
        prerequisites: Vec::new(),
        challenge,
    }
}

fn read_requirement(requirement: &Fields<'_>) -> (String, i32, Mode) {
    requirement.word("operator", &[(">=", ())]);
    let modes = [("absolute", Mode::Absolute), ("relative", Mode::Relative)];
    let mode = requirement.word_or_first("progressMode", &modes);
    (requirement.id("statCode"), requirement.whole("targetValue", 1..=i32::MAX), mode)
}

fn reward(goal: &Fields<'_>) -> Reward {
    let Some(fields) = goal.required("reward", &REWARD_KEYS) else {
        return Reward { kind: "ITEM", id: String::new(), quantity: 1 };
    };
    Reward {
        kind: fields.word("type", &[("ITEM", "ITEM"), ("WALLET", "WALLET")]),
        id: fields.id("rewardId"),
        quantity: fields.whole("quantity", 1..=i32::MAX),
    }
}

/// Rotation is not offered here: a file that relies on it must not start as if it were.
fn refuse_rotation(goal: &Fields<'_>, mode: Mode) {
    let Some(rotation) = goal.child("rotation", &ROTATION_KEYS) else { return };
    if let Some(on_expiry) = rotation.child("onExpiry", &ON_EXPIRY_KEYS) {
        on_expiry.flag("resetProgress");
        on_expiry.flag("allowReselection");
    }
    if !rotation.flag("enabled") {
        return;
    }
    rotation.word("type", &[("global", ())]);
    rotation.word("schedule", &[("daily", ()), ("weekly", ()), ("monthly", ())]);
    if mode != Mode::Relative {
        rotation.wrong("enabled", "needs requirement.progressMode relative");
    }
    rotation.wrong("enabled", "rotation is not offered by this version; remove it or set it to false");
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
    let places: HashMap<String, GoalIx> =
        goals.iter().zip(0..).map(|(g, i)| (g.id.clone(), GoalIx(i))).collect();
    for (goal, path) in goals.iter_mut().zip(paths) {
        for (i, id) in goal.prerequisite_ids.iter().enumerate() {
            match places.get(id) {
                Some(place) => goal.prerequisites.push(*place),
                None => {
                    problems.add(format!("{path}.prerequisites[{i}]"), format!("no goal has the id {id:?}"))
                }
            }
        }
    }
    if let Some(cycle) = prerequisites::cycle(goals) {
        let names: Vec<&str> = cycle.iter().map(|ix| goals[ix.0 as usize].id.as_str()).collect();
        let path = format!("{}.prerequisites", paths[cycle[0].0 as usize]);
        problems.add(path, format!("goals wait for each other in a circle: {}", names.join(" -> ")));
    }
}
