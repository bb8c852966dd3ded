//! From JSON to challenges and goals: the shape of each, then the rules over the whole file.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::fields::{Fields, Problem, Problems};
use super::{
    Challenge, ChallengeIndex, EventSource, Goal, GoalIndex, ProgressMode, Resets, Reward, Rotation,
    Schedule, prerequisites,
};

const CHALLENGE_KEYS: [&str; 4] = ["challengeId", "name", "description", "goals"];
const GOAL_KEYS: [&str; 11] = [
    "goalId",
    "name",
    "description",
    "type",
    "daily",
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

/// A file that violates no rule.
pub(super) struct ReadFile {
    pub(super) challenges: Vec<Challenge>,
    pub(super) goals: Vec<Goal>,
    pub(super) warnings: Vec<Problem>,
}

/// Reads the whole file.
pub(super) fn challenges(value: &Value) -> Result<ReadFile, Vec<Problem>> {
    let problems = Problems::default();
    let mut challenges = Vec::new();
    let mut goals = Vec::new();
    let mut paths = Paths::default();
    if let Some(file) = Fields::read(value, String::new(), &["challenges"], &problems) {
        for entry in file.children("challenges", &CHALLENGE_KEYS) {
            let index = ChallengeIndex(challenges.len());
            challenges.push(challenge(&entry, index, &mut goals, &mut paths));
        }
    }
    check_unique(paths.challenges.iter().zip(challenges.iter().map(|c| &c.id)), &problems);
    check_unique(paths.goals.iter().zip(goals.iter().map(|g| &g.id)), &problems);
    resolve_prerequisites(&mut goals, &paths.goals, &problems);
    let warnings = problems.into_warnings()?;
    Ok(ReadFile { challenges, goals, warnings })
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
        None => Requirement { stat_code: String::new(), target: 1, mode: None },
    };
    let mode = mode(fields, source, requirement.mode);
    Goal {
        id: fields.id("goalId"),
        name: fields.text("name"),
        description: fields.optional_text("description"),
        source,
        is_default: fields.flag("defaultAssigned"),
        stat_code: requirement.stat_code,
        target: requirement.target,
        mode,
        rotation: rotation(fields, mode),
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
    mode: Option<ProgressMode>,
}

fn read_requirement(requirement: &Fields<'_>) -> Requirement {
    requirement.choice("operator", &[(">=", ())]);
    let modes = [("absolute", ProgressMode::Absolute), ("relative", ProgressMode::Relative)];
    let mode = requirement.optional_choice("progressMode", &modes);
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

/// `requirement.progressMode` decides; without it the goal's `type`, as earlier versions of such files have it. Logins
/// have no value, so they are counted.
fn mode(goal: &Fields<'_>, source: EventSource, declared: Option<ProgressMode>) -> ProgressMode {
    let types = [
        ("absolute", ProgressMode::Absolute),
        ("increment", ProgressMode::EachEvent),
        ("daily", ProgressMode::EachDay),
    ];
    let typed = goal.optional_choice("type", &types);
    let is_once_a_day = goal.flag("daily");
    let typed = match (typed, is_once_a_day) {
        (Some(ProgressMode::EachEvent), true) => Some(ProgressMode::EachDay),
        (typed, true) if typed != Some(ProgressMode::EachDay) => {
            goal.warn("daily", "has an effect only with type increment");
            typed
        }
        (typed, _) => typed,
    };
    if typed.is_some() && declared.is_some() && typed != declared {
        goal.warn("type", "has no effect: requirement.progressMode is given, and decides");
    }
    match (source, declared.or(typed).unwrap_or(ProgressMode::Absolute)) {
        (EventSource::Login, ProgressMode::Absolute | ProgressMode::Relative) => ProgressMode::EachEvent,
        (_, mode) => mode,
    }
}

fn rotation(goal: &Fields<'_>, mode: ProgressMode) -> Option<Rotation> {
    let rotation = goal.child("rotation", &ROTATION_KEYS)?;
    let resets =
        rotation.child("onExpiry", &ON_EXPIRY_KEYS).map_or(Resets::Nothing, |on_expiry| resets(&on_expiry));
    if !rotation.flag("enabled") {
        return None;
    }
    rotation.choice("type", &[("global", ())]);
    let schedules = [Schedule::Daily, Schedule::Weekly, Schedule::Monthly].map(|each| (each.name(), each));
    let schedule = rotation.choice("schedule", &schedules);
    if mode == ProgressMode::Absolute {
        let reason =
            "needs requirement.progressMode relative: the value of a statistic is not reset with the goal";
        rotation.invalid("enabled", reason);
    }
    Some(Rotation { schedule, resets })
}

fn resets(on_expiry: &Fields<'_>) -> Resets {
    match (on_expiry.flag("resetProgress"), on_expiry.flag("allowReselection")) {
        (true, true) => Resets::Everything,
        (true, false) => Resets::Unclaimed,
        (false, true) => {
            on_expiry.warn("allowReselection", "has no effect without resetProgress");
            Resets::Nothing
        }
        (false, false) => Resets::Nothing,
    }
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
