//! Generates a challenge file of a given size, always the same for one size: for demonstrations, benchmarks and tests.

use serde_json::{Value, json};

/// The statistics of the generated goals. Examples send the first one most.
const STAT_CODES: [&str; 8] = [
    "enemy_kills",
    "matches_played",
    "matches_won",
    "damage_dealt",
    "items_crafted",
    "distance_walked",
    "chests_opened",
    "allies_revived",
];
/// Every tenth goal counts logins.
const LOGIN_EVERY: u32 = 10;
/// Every fifth goal has the one before it as prerequisite.
const GATED_EVERY: u32 = 5;
/// Every third statistic goal counts from its assignment on.
const RELATIVE_EVERY: u32 = 3;

/// The size of a challenge file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogSize {
    /// Challenges, at least 1.
    pub challenges: u32,
    /// Goals in each challenge, at least 1.
    pub goals: u32,
    /// Goals assigned by default over the whole file, at most all of them.
    pub defaults: u32,
}

/// The file's text, ending in a newline. Default goals are spread evenly over the challenges.
#[must_use]
pub fn generate(size: CatalogSize) -> String {
    let challenges: Vec<Value> = (0..size.challenges).map(|c| challenge(size, c)).collect();
    let file = json!({ "challenges": challenges });
    // A Value has only text keys, so it always serialises.
    format!("{file:#}\n")
}

fn challenge(size: CatalogSize, c: u32) -> Value {
    let number = c + 1;
    let goals: Vec<Value> = (0..size.goals).map(|g| goal(size, c, g)).collect();
    json!({
        "challengeId": format!("challenge-{number:03}"),
        "name": format!("Challenge {number}"),
        "description": format!("Missions of season week {number}, from a first steps mission to a master's."),
        "goals": goals,
    })
}

/// The default goals of a challenge, which are its first ones; when they do not divide evenly, the first challenges
/// have one more.
fn defaults_of(size: CatalogSize, c: u32) -> u32 {
    let extra = u32::from(c < size.defaults % size.challenges.max(1));
    size.defaults / size.challenges.max(1) + extra
}

fn goal(size: CatalogSize, c: u32, g: u32) -> Value {
    let id = |g: u32| format!("goal-{:03}-{:02}", c + 1, g + 1);
    // Shifted by challenge, so that the first goals, which are the defaults, differ in their statistics.
    let kind = c + g;
    let is_login = kind % LOGIN_EVERY == LOGIN_EVERY - 1;
    let stat_code = if is_login { "login_count" } else { STAT_CODES[kind as usize % STAT_CODES.len()] };
    let is_relative = !is_login && kind % RELATIVE_EVERY == RELATIVE_EVERY - 1;
    let is_gated = g % GATED_EVERY == GATED_EVERY - 1;
    let prerequisites = if is_gated { vec![id(g - 1)] } else { Vec::new() };
    let is_wallet = kind % 2 == 1;
    json!({
        "goalId": id(g),
        "name": format!("Goal {} of challenge {}", g + 1, c + 1),
        "description": format!("Reach {} in {stat_code} to earn the reward of this goal.", target(g)),
        "eventSource": if is_login { "login" } else { "statistic" },
        "defaultAssigned": g < defaults_of(size, c),
        "requirement": {
            "statCode": stat_code,
            "operator": ">=",
            "targetValue": if is_login { g % 7 + 1 } else { target(g) },
            "progressMode": if is_relative { "relative" } else { "absolute" },
        },
        "reward": {
            "type": if is_wallet { "WALLET" } else { "ITEM" },
            "rewardId": if is_wallet { "GOLD".to_owned() } else { format!("item-{:03}-{:02}", c + 1, g + 1) },
            "quantity": if is_wallet { 10 * (g + 1) } else { 1 },
        },
        "prerequisites": prerequisites,
    })
}

fn target(g: u32) -> u32 {
    10 * (g % 10 + 1)
}
