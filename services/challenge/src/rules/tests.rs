//! The rules through one door: [`World`] plays steps on one user's goals.

use super::*;
use crate::catalog::Catalog;
use kit::clock::UtcMs;
use proptest::prelude::*;
use serde_json::{Value, json};

fn goal(id: &str, source: &str, extra: &Value) -> Value {
    let mut goal = json!({
        "goalId": id, "name": id, "eventSource": source, "defaultAssigned": true,
        "requirement": { "statCode": "kills", "operator": ">=", "targetValue": 10 },
        "reward": { "type": "ITEM", "rewardId": "sword", "quantity": 1 },
    });
    for (key, value) in extra.as_object().unwrap() {
        goal[key] = value.clone();
    }
    goal
}

/// `absolute`, `relative` and `login` watch "kills"; `gated` waits for `absolute`; `optional` is no default.
fn catalog() -> Catalog {
    let relative =
        json!({ "statCode": "kills", "operator": ">=", "targetValue": 10, "progressMode": "relative" });
    let goals = [
        goal("absolute", "statistic", &json!({})),
        goal("relative", "statistic", &json!({ "requirement": relative })),
        goal("login", "login", &json!({})),
        goal("gated", "statistic", &json!({ "prerequisites": ["absolute"] })),
        goal("optional", "statistic", &json!({ "defaultAssigned": false })),
    ];
    let file = json!({ "challenges": [{ "challengeId": "c", "name": "c", "goals": goals }] });
    Catalog::parse("test", &file.to_string()).unwrap()
}

struct World {
    catalog: Catalog,
    user: UserGoals,
    now: UtcMs,
}

impl World {
    /// A user who has the defaults.
    fn new() -> Self {
        let mut world = Self { catalog: catalog(), user: UserGoals::default(), now: UtcMs(1000) };
        assert_eq!(assign_defaults(&world.catalog, &mut world.user, world.now), 4);
        world
    }

    fn statistic(&mut self, latest: i32, added: i32) {
        let trigger = self.catalog.statistic_trigger("kills").unwrap();
        let goals = self.catalog.triggered(trigger);
        apply(&self.catalog, &mut self.user, (goals, Happening::Statistic { latest, added }), self.now);
    }

    fn login(&mut self) {
        let goals = self.catalog.triggered(self.catalog.login_trigger().unwrap());
        apply(&self.catalog, &mut self.user, (goals, Happening::Login), self.now);
    }

    fn switch(&mut self, id: &str, activation: Activation) {
        set_active(&mut self.user, self.catalog.find(id).unwrap(), activation, self.now);
    }

    fn claim(&self, id: &str) -> Result<(), ClaimRefusal> {
        claimable(&self.catalog, &self.user, self.catalog.find(id).unwrap()).map(drop)
    }

    /// Progress and status, or nothing when the user does not have the goal.
    fn seen(&self, id: &str) -> Option<(i32, &'static str)> {
        let ix = self.catalog.find(id).unwrap();
        let row = self.user.row(ix)?;
        Some((progress(self.catalog.goal(ix), row), status(self.catalog.goal(ix), row).word()))
    }

    fn is_locked(&self, id: &str) -> bool {
        is_locked(&self.catalog, &self.user, self.catalog.find(id).unwrap())
    }
}

#[test]
fn a_statistic_sets_an_absolute_goal_and_completes_it_at_the_target() {
    let mut world = World::new();
    assert_eq!(world.seen("absolute"), Some((0, "not_started")));
    world.statistic(9, 1);
    assert_eq!(world.seen("absolute"), Some((9, "in_progress")));
    world.statistic(10, 1);
    assert_eq!(world.seen("absolute"), Some((10, "completed")));
}

#[test]
fn a_relative_goal_counts_from_the_value_before_its_first_event() {
    let mut world = World::new();
    world.statistic(105, 5);
    assert_eq!(world.seen("relative"), Some((5, "in_progress")));
    world.statistic(109, 4);
    assert_eq!(world.seen("relative"), Some((9, "in_progress")));
    world.statistic(110, 1);
    assert_eq!(world.seen("relative"), Some((10, "completed")));
}

/// Keeping only the last increment of several would make the baseline 12 here.
#[test]
fn several_increments_in_a_row_keep_the_first_baseline() {
    let mut world = World::new();
    world.statistic(5, 5);
    world.statistic(13, 1);
    assert_eq!(world.seen("relative"), Some((13, "completed")));
}

#[test]
fn an_older_value_never_lowers_progress() {
    let mut world = World::new();
    world.statistic(8, 1);
    world.statistic(3, 1);
    assert_eq!(world.seen("absolute"), Some((8, "in_progress")));
}

#[test]
fn source_and_stat_code_must_both_match() {
    let mut world = World::new();
    world.statistic(10, 10);
    assert_eq!(world.seen("login"), Some((0, "not_started")), "same stat code, other source");
    world.login();
    assert_eq!(world.seen("login"), Some((1, "in_progress")));
    assert_eq!(world.seen("absolute"), Some((10, "completed")));
    assert_eq!(world.catalog.statistic_trigger("login"), None);
}

#[test]
fn only_goals_that_the_user_has_and_that_are_active_move() {
    let mut world = World::new();
    world.switch("absolute", Activation::Off);
    world.statistic(10, 1);
    assert_eq!(world.seen("absolute"), Some((0, "not_started")));
    assert_eq!(world.seen("optional"), None);
    world.switch("optional", Activation::On);
    world.statistic(10, 1);
    assert_eq!(world.seen("optional"), Some((10, "completed")));
}

#[test]
fn defaults_are_assigned_once_and_a_deactivated_one_stays_so() {
    let mut world = World::new();
    world.switch("absolute", Activation::Off);
    assert_eq!(assign_defaults(&world.catalog, &mut world.user, UtcMs(2000)), 0);
    assert!(!world.user.row(world.catalog.find("absolute").unwrap()).unwrap().is_active);
}

#[test]
fn a_user_who_began_with_set_active_still_receives_the_defaults() {
    let mut world = World { catalog: catalog(), user: UserGoals::default(), now: UtcMs(1000) };
    world.switch("optional", Activation::On);
    assert_eq!(assign_defaults(&world.catalog, &mut world.user, world.now), 4);
}

#[test]
fn deactivation_keeps_the_time_of_assignment() {
    let mut world = World::new();
    world.now = UtcMs(5000);
    world.switch("absolute", Activation::Off);
    let ix = world.catalog.find("absolute").unwrap();
    assert_eq!(world.user.row(ix).unwrap().assigned_at, Some(UtcMs(1000)));
    world.switch("absolute", Activation::On);
    assert_eq!(world.user.row(ix).unwrap().assigned_at, Some(UtcMs(5000)));
}

#[test]
fn locked_follows_the_users_own_progress() {
    let mut world = World::new();
    assert!(world.is_locked("gated"));
    assert!(!world.is_locked("absolute"));
    world.statistic(10, 1);
    assert!(!world.is_locked("gated"));
}

#[test]
fn claims_are_refused_in_order() {
    let mut world = World::new();
    assert_eq!(world.claim("optional"), Err(ClaimRefusal::NotActive));
    assert_eq!(world.claim("absolute"), Err(ClaimRefusal::NotCompleted));
    world.switch("absolute", Activation::Off);
    world.statistic(10, 1);
    assert_eq!(world.claim("gated"), Err(ClaimRefusal::PrerequisitesUnmet));
    world.switch("absolute", Activation::On);
    world.statistic(10, 1);
    assert_eq!(world.claim("absolute"), Ok(()));
    let ix = world.catalog.find("absolute").unwrap();
    mark_claimed(&mut world.user, ix, world.now);
    assert_eq!(world.claim("absolute"), Err(ClaimRefusal::AlreadyClaimed));
    assert_eq!(world.claim("gated"), Ok(()));
    world.statistic(50, 1);
    assert_eq!(world.seen("absolute"), Some((10, "claimed")), "a claimed goal stands still");
}

proptest! {
    /// Whatever the order, and however often each is delivered, absolute progress is the highest value.
    #[test]
    fn absolute_progress_does_not_depend_on_order_or_repetition(
        values in prop::collection::vec(0..10_000i32, 1..20), seed in any::<u64>(),
    ) {
        let mut world = World::new();
        for i in 0..values.len() * 3 {
            let at = (seed.wrapping_mul(i as u64 + 1) >> 7) as usize % values.len();
            world.statistic(values[at], 0);
        }
        values.iter().for_each(|value| world.statistic(*value, 0));
        prop_assert_eq!(world.seen("absolute").unwrap().0, *values.iter().max().unwrap());
    }

    /// No value overflows, and within one period progress only ever grows.
    #[test]
    fn progress_never_falls(events in prop::collection::vec((0..=i32::MAX, any::<i32>()), 0..30)) {
        let mut world = World::new();
        let mut before = (0, 0);
        for (latest, added) in events {
            world.statistic(latest, added);
            let after = (world.seen("absolute").unwrap().0, world.seen("relative").unwrap().0);
            prop_assert!(after.0 >= before.0 && after.1 >= before.1);
            before = after;
        }
    }
}
