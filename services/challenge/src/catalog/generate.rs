//! Writes a challenge file of a given size, the same for the same sizes: for demonstrations, benchmarks and tests.

use serde_json::{Value, json};

/// Statistics that the generated goals watch. The first is the one that examples send most.
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
/// Every fifth goal waits for the one before it.
const GATED_EVERY: u32 = 5;
/// Every third statistic goal counts what was gained since it was assigned.
const RELATIVE_EVERY: u32 = 3;

/// How large a file to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Challenges, at least 1.
    pub challenges: u32,
    /// Goals in each challenge, at least 1.
    pub goals: u32,
    /// Goals assigned by default over the whole file, at most all of them.
    pub defaults: u32,
}

/// The file's text, ending in a newline. Default goals are spread evenly over the challenges.
#[must_use]
pub fn generate(counts: Counts) -> String {
    let challenges: Vec<Value> = (0..counts.challenges).map(|c| challenge(counts, c)).collect();
    let file = json!({ "challenges": challenges });
    // A Value has text keys only and so always prints.
    format!("{file:#}\n")
}

fn challenge(counts: Counts, c: u32) -> Value {
    let number = c + 1;
    let goals: Vec<Value> = (0..counts.goals).map(|g| goal(counts, c, g)).collect();
    json!({
        "challengeId": format!("challenge-{number:03}"),
        "name": format!("Challenge {number}"),
        "description": format!("Missions of season week {number}, from a first steps mission to a master's."),
        "goals": goals,
    })
}

/// A challenge takes its first goals as defaults; the first challenges take one more when they do not divide evenly.
fn defaults_of(counts: Counts, c: u32) -> u32 {
    let spare = u32::from(c < counts.defaults % counts.challenges.max(1));
    counts.defaults / counts.challenges.max(1) + spare
}

fn goal(counts: Counts, c: u32, g: u32) -> Value {
    let id = |g: u32| format!("goal-{:03}-{:02}", c + 1, g + 1);
    // Shifted by challenge, so that the first goals, which are the defaults, watch different things.
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
        "defaultAssigned": g < defaults_of(counts, c),
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
