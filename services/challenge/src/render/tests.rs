//! Responses from prepared texts equal a plain rendering of the same messages, byte for byte.

use super::*;

use std::sync::OnceLock;

use kit::clock::UtcMs;
use proptest::prelude::*;
use serde::Serialize;

use crate::catalog::{Catalog, CatalogSize, Goal, GoalIndex, generate};
use crate::rules::{GoalRow, Status, UserGoals, is_locked, progress, status};
use crate::store::Initialized;
use crate::view::{GoalFilter, instant};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainList<'a> {
    challenges: Vec<PlainChallenge<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainChallenge<'a> {
    challenge_id: &'a str,
    name: &'a str,
    description: &'a str,
    goals: Vec<PlainGoal<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainGoal<'a> {
    goal_id: &'a str,
    name: &'a str,
    description: &'a str,
    requirement: PlainRequirement<'a>,
    reward: PlainReward<'a>,
    prerequisites: &'a [String],
    progress: i32,
    status: &'a str,
    locked: bool,
    completed_at: String,
    claimed_at: String,
    is_active: bool,
    expires_at: String,
    expires_in_seconds: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainRequirement<'a> {
    stat_code: &'a str,
    operator: &'a str,
    target_value: i32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainReward<'a> {
    r#type: &'a str,
    reward_id: &'a str,
    quantity: i32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainInitialized<'a> {
    assigned_goals: Vec<PlainAssigned<'a>>,
    new_assignments: u32,
    total_active: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlainAssigned<'a> {
    challenge_id: &'a str,
    goal_id: &'a str,
    name: &'a str,
    description: &'a str,
    is_active: bool,
    assigned_at: String,
    expires_at: String,
    progress: i32,
    target: i32,
    status: &'a str,
    requirement: PlainRequirement<'a>,
    reward: PlainReward<'a>,
}

pub(crate) const NOW: UtcMs = UtcMs(1_800_000_000_000);

/// A small catalogue with prerequisites and periods, whose texts contain quotes, brackets and control characters.
pub(crate) fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let generated = generate(CatalogSize { challenges: 3, goals: 12, defaults: 5 });
        let generated = with_rotations(&generated);
        let hostile = generated.replace("Missions of", r#"]}\",\"goals\":[{\\ \u0001 \n é 💥"#);
        Catalog::parse("test", &hostile.replace("Reach", r#"}]}\\\"x"#)).unwrap()
    })
}

/// Gives every third goal periods: daily, weekly or monthly ones.
pub(crate) fn with_rotations(file: &str) -> String {
    let mut file: serde_json::Value = serde_json::from_str(file).unwrap();
    let challenges = file["challenges"].as_array_mut().unwrap().iter_mut();
    let goals = challenges.flat_map(|challenge| challenge["goals"].as_array_mut().unwrap());
    for (number, goal) in goals.enumerate().filter(|(number, _)| number % 3 == 0) {
        let schedule = ["daily", "weekly", "monthly"][number / 3 % 3];
        goal["requirement"]["progressMode"] = "relative".into();
        let on_expiry = serde_json::json!({ "resetProgress": true, "allowReselection": number % 2 == 0 });
        goal["rotation"] = serde_json::json!({ "enabled": true, "type": "global", "schedule": schedule, "onExpiry": on_expiry });
    }
    file.to_string()
}

fn period_end(goal: &Goal) -> Option<UtcMs> {
    goal.rotation.map(|rotation| rotation.schedule.period(NOW).end)
}

fn requirement(goal: &Goal) -> PlainRequirement<'_> {
    PlainRequirement { stat_code: &goal.stat_code, operator: ">=", target_value: goal.target }
}

fn reward(goal: &Goal) -> PlainReward<'_> {
    PlainReward { r#type: goal.reward.kind, reward_id: &goal.reward.id, quantity: goal.reward.quantity }
}

fn plain_goal<'a>(catalog: &'a Catalog, user: &UserGoals, index: GoalIndex) -> PlainGoal<'a> {
    let goal = catalog.goal(index);
    let row = user.row(index);
    let time = |pick: fn(&GoalRow) -> Option<UtcMs>| instant(row.and_then(pick));
    PlainGoal {
        goal_id: &goal.id,
        name: &goal.name,
        description: &goal.description,
        requirement: requirement(goal),
        reward: reward(goal),
        prerequisites: &goal.prerequisite_ids,
        progress: row.map_or(0, |row| progress(goal, row)),
        status: row.map_or(Status::NotStarted, |row| status(goal, row)).name(),
        locked: is_locked(catalog, user, index),
        completed_at: time(|row| row.completed_at),
        claimed_at: time(|row| row.claimed_at),
        is_active: row.is_some_and(|row| row.is_active),
        expires_at: instant(period_end(goal)),
        expires_in_seconds: period_end(goal).map_or(0, |end| (end.0 - NOW.0) / 1000),
    }
}

fn plain_list(catalog: &Catalog, user: &UserGoals, filter: GoalFilter) -> String {
    let is_included =
        |index: &GoalIndex| filter == GoalFilter::All || user.row(*index).is_some_and(|row| row.is_active);
    let challenges = catalog.challenges.iter().map(|challenge| PlainChallenge {
        challenge_id: &challenge.id,
        name: &challenge.name,
        description: &challenge.description,
        goals: challenge
            .goals
            .clone()
            .map(GoalIndex)
            .filter(is_included)
            .map(|index| plain_goal(catalog, user, index))
            .collect(),
    });
    serde_json::to_string(&PlainList { challenges: challenges.collect() }).unwrap()
}

fn plain_initialized(catalog: &Catalog, done: &Initialized) -> String {
    let assigned: Vec<PlainAssigned<'_>> = done
        .goals
        .rows()
        .iter()
        .filter(|row| row.is_active)
        .map(|row| {
            let goal = catalog.goal(row.goal);
            PlainAssigned {
                challenge_id: &catalog.challenge_of(goal).id,
                goal_id: &goal.id,
                name: &goal.name,
                description: &goal.description,
                is_active: true,
                assigned_at: instant(row.assigned_at),
                expires_at: instant(period_end(goal)),
                progress: progress(goal, row),
                target: goal.target,
                status: status(goal, row).name(),
                requirement: requirement(goal),
                reward: reward(goal),
            }
        })
        .collect();
    let total_active = assigned.len();
    let plain =
        PlainInitialized { assigned_goals: assigned, new_assignments: done.new_assignments, total_active };
    serde_json::to_string(&plain).unwrap()
}

fn a_time() -> impl Strategy<Value = Option<UtcMs>> {
    prop::option::of((1_600_000_000_000..2_000_000_000_000i64).prop_map(UtcMs))
}

prop_compose! {
    pub(crate) fn a_row()(
        goal in 0..36u32, value in 0..=i32::MAX, baseline in prop::option::of(0..=i32::MAX),
        is_active in any::<bool>(), times in [a_time(), a_time(), a_time()],
    ) -> GoalRow {
        let [assigned_at, completed_at, claimed_at] = times;
        GoalRow {
            value, baseline, is_active, assigned_at, completed_at, claimed_at,
            ..GoalRow::new(GoalIndex(goal))
        }
    }
}

proptest! {
    #[test]
    fn a_list_equals_its_plain_rendering(rows in prop::collection::vec(a_row(), 0..60)) {
        let catalog = catalog();
        let user = UserGoals::new(rows);
        let template = ListTemplate::new(catalog);
        for filter in [GoalFilter::All, GoalFilter::Active] {
            let response = template.render(catalog, &user, filter, NOW);
            let expected_bytes = http_body::Body::size_hint(&response).exact().unwrap();
            let bytes = response.into_bytes();
            prop_assert_eq!(bytes.len() as u64, expected_bytes);
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), plain_list(catalog, &user, filter));
        }
    }

    #[test]
    fn an_initialize_response_equals_its_plain_rendering(
        rows in prop::collection::vec(a_row(), 0..60), new_assignments in 0..500u32,
    ) {
        let done = Initialized { new_assignments, goals: UserGoals::new(rows), at: NOW };
        let response = InitializeTemplate::new(catalog()).render(catalog(), &done);
        prop_assert_eq!(response, plain_initialized(catalog(), &done));
    }
}
