//! The rules, applied by [`World`] to the goals of one user.

use super::*;

use kit::clock::UtcMs;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::catalog::Catalog;

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

/// `absolute`, `relative` and `login` have the stat code "kills"; `gated` has the prerequisite `absolute`; `optional` is
/// not a default.
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
    /// A user with the default goals.
    fn new() -> Self {
        let mut world = Self { catalog: catalog(), user: UserGoals::default(), now: UtcMs(1000) };
        assert_eq!(assign_defaults(&world.catalog, &mut world.user, world.now), 4);
        world
    }

    fn statistic(&mut self, latest: i32, added: i32) {
        self.ordered(latest, added, EventOrder::default());
    }

    fn ordered(&mut self, latest: i32, added: i32, order: EventOrder) {
        let trigger = self.catalog.statistic_trigger("kills").unwrap();
        let event = GoalEvent::Statistic { latest, added, order };
        apply(&self.catalog, &mut self.user, TriggeredEvent { trigger, event }, self.now);
    }

    fn login(&mut self) {
        let trigger = self.catalog.login_trigger().unwrap();
        let event = TriggeredEvent { trigger, event: GoalEvent::Login { order: EventOrder::default() } };
        apply(&self.catalog, &mut self.user, event, self.now);
    }

    fn switch(&mut self, id: &str, activation: Activation) {
        let change = ActivityChange { goal: self.catalog.find(id).unwrap(), activation };
        set_active(&self.catalog, &mut self.user, change, self.now);
    }

    fn claim(&self, id: &str) -> Result<(), ClaimRefusal> {
        claimable(&self.catalog, &self.user, self.catalog.find(id).unwrap()).map(drop)
    }

    /// Progress and status, or `None` when the user does not have the goal.
    fn shown(&self, id: &str) -> Option<(i32, &'static str)> {
        let index = self.catalog.find(id).unwrap();
        let row = self.user.row(index)?;
        Some((progress(self.catalog.goal(index), row), status(self.catalog.goal(index), row).name()))
    }

    fn is_locked(&self, id: &str) -> bool {
        is_locked(&self.catalog, &self.user, self.catalog.find(id).unwrap())
    }
}

#[test]
fn a_statistic_sets_an_absolute_goal_and_completes_it_at_the_target() {
    let mut world = World::new();
    assert_eq!(world.shown("absolute"), Some((0, "not_started")));
    world.statistic(9, 1);
    assert_eq!(world.shown("absolute"), Some((9, "in_progress")));
    world.statistic(10, 1);
    assert_eq!(world.shown("absolute"), Some((10, "completed")));
}

#[test]
fn a_relative_goal_counts_from_the_value_before_its_first_event() {
    let mut world = World::new();
    world.statistic(105, 5);
    assert_eq!(world.shown("relative"), Some((5, "in_progress")));
    world.statistic(109, 4);
    assert_eq!(world.shown("relative"), Some((9, "in_progress")));
    world.statistic(110, 1);
    assert_eq!(world.shown("relative"), Some((10, "completed")));
}

/// With only the last of several increments the baseline would be 12 here.
#[test]
fn several_increments_in_a_row_keep_the_first_baseline() {
    let mut world = World::new();
    world.statistic(5, 5);
    world.statistic(13, 1);
    assert_eq!(world.shown("relative"), Some((13, "completed")));
}

#[test]
fn an_older_value_never_lowers_progress() {
    let mut world = World::new();
    world.statistic(8, 1);
    world.statistic(3, 1);
    assert_eq!(world.shown("absolute"), Some((8, "in_progress")));
}

fn version(number: i64) -> EventOrder {
    EventOrder { version: Some(number), occurred_at: None }
}

#[test]
fn an_earlier_event_that_arrives_late_moves_the_baseline_back() {
    let mut world = World::new();
    world.ordered(108, 3, version(2));
    assert_eq!(world.shown("relative"), Some((3, "in_progress")));
    world.ordered(105, 5, version(1));
    assert_eq!(world.shown("relative"), Some((8, "in_progress")), "108 - (105 - 5)");
    world.ordered(109, 1, version(3));
    assert_eq!(world.shown("relative"), Some((9, "in_progress")), "a later one leaves the baseline");
    world.statistic(101, 101);
    assert_eq!(world.shown("relative"), Some((9, "in_progress")), "and so does an event without an order");
}

#[test]
fn a_completed_goal_stays_completed_when_an_earlier_event_moves_its_baseline() {
    let mut world = World::new();
    world.ordered(10, 10, version(2));
    assert_eq!(world.shown("relative"), Some((10, "completed")));
    world.ordered(500, 0, version(1));
    assert_eq!(world.shown("relative"), Some((0, "completed")), "the statistic had fallen in between");
}

#[test]
fn source_and_stat_code_must_both_match() {
    let mut world = World::new();
    world.statistic(10, 10);
    assert_eq!(world.shown("login"), Some((0, "not_started")), "same stat code, other source");
    world.login();
    assert_eq!(world.shown("login"), Some((1, "in_progress")));
    assert_eq!(world.shown("absolute"), Some((10, "completed")));
    assert_eq!(world.catalog.statistic_trigger("login"), None);
}

#[test]
fn only_goals_that_the_user_has_and_that_are_active_move() {
    let mut world = World::new();
    world.switch("absolute", Activation::Off);
    world.statistic(10, 1);
    assert_eq!(world.shown("absolute"), Some((0, "not_started")));
    assert_eq!(world.shown("optional"), None);
    world.switch("optional", Activation::On);
    world.statistic(10, 1);
    assert_eq!(world.shown("optional"), Some((10, "completed")));
}

#[test]
fn defaults_are_assigned_once_and_a_deactivated_one_stays_inactive() {
    let mut world = World::new();
    world.switch("absolute", Activation::Off);
    assert_eq!(assign_defaults(&world.catalog, &mut world.user, UtcMs(2000)), 0);
    assert!(!world.user.row(world.catalog.find("absolute").unwrap()).unwrap().is_active);
}

#[test]
fn a_user_whose_first_write_is_set_active_still_receives_the_defaults() {
    let mut world = World { catalog: catalog(), user: UserGoals::default(), now: UtcMs(1000) };
    world.switch("optional", Activation::On);
    assert_eq!(assign_defaults(&world.catalog, &mut world.user, world.now), 4);
}

#[test]
fn deactivation_keeps_the_time_of_assignment() {
    let mut world = World::new();
    world.now = UtcMs(5000);
    world.switch("absolute", Activation::Off);
    let index = world.catalog.find("absolute").unwrap();
    assert_eq!(world.user.row(index).unwrap().assigned_at, Some(UtcMs(1000)));
    world.switch("absolute", Activation::On);
    assert_eq!(world.user.row(index).unwrap().assigned_at, Some(UtcMs(5000)));
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
    let index = world.catalog.find("absolute").unwrap();
    end_claim(world.catalog.goal(index), world.user.row_mut(index).unwrap(), 0, world.now);
    assert_eq!(world.claim("absolute"), Err(ClaimRefusal::AlreadyClaimed));
    assert_eq!(world.claim("gated"), Ok(()));
    world.statistic(50, 1);
    assert_eq!(world.shown("absolute"), Some((10, "claimed")), "a claimed goal does not move");
}

/// Events, each with a unique order, and the same events in order of arrival.
fn arriving_events<T: std::fmt::Debug + Clone + 'static>(
    each: impl Strategy<Value = T>,
) -> impl Strategy<Value = (Vec<T>, Vec<(EventOrder, T)>)> {
    let order = (0..4i64, 0..40i64).prop_filter("has an order", |order| *order != (0, 0));
    prop::collection::btree_map(order, each, 1..12).prop_flat_map(|events| {
        let present = |number: i64| (number != 0).then_some(number);
        let order =
            |(version, ms)| EventOrder { version: present(version), occurred_at: present(ms).map(UtcMs) };
        let in_order: Vec<T> = events.values().cloned().collect();
        let arrival: Vec<_> = events.into_iter().map(|(key, event)| (order(key), event)).collect();
        (Just(in_order), Just(arrival).prop_shuffle())
    })
}

/// The state of the relative goal: progress, baseline, whether it is completed.
fn relative(world: &World) -> (i32, Option<i32>, bool) {
    let row = world.user.row(world.catalog.find("relative").unwrap()).unwrap();
    (world.shown("relative").unwrap().0, row.baseline, row.completed_at.is_some())
}

proptest! {
    /// A statistic that only rises: each event adds to the value before.
    #[test]
    fn a_rising_statistic_has_the_same_result_in_any_order_of_arrival(
        (start, (gains, arrival)) in (0..100i32, arriving_events(0..6i32)),
    ) {
        let mut orders: Vec<EventOrder> = arrival.iter().map(|(order, _)| *order).collect();
        orders.sort_unstable();
        let mut value = start;
        let history: Vec<(EventOrder, i32, i32)> = orders.into_iter().zip(gains).map(|(order, gain)| {
            value += gain;
            (order, value, gain)
        }).collect();
        let mut in_order = World::new();
        history.iter().for_each(|(order, latest, added)| in_order.ordered(*latest, *added, *order));
        let mut as_arrived = World::new();
        for (order, _) in &arrival {
            let (_, latest, added) = history.iter().find(|event| event.0 == *order).unwrap();
            as_arrived.ordered(*latest, *added, *order);
        }
        prop_assert_eq!(relative(&as_arrived), relative(&in_order));
        prop_assert_eq!(as_arrived.shown("absolute"), in_order.shown("absolute"));
        prop_assert_eq!(relative(&in_order).0, value - start);
    }

    /// Any values: progress and baseline do not depend on the order of arrival.
    #[test]
    fn any_statistic_has_the_same_progress_and_baseline_in_any_order_of_arrival(
        (_, arrival) in arriving_events((0..=i32::MAX, any::<i32>())),
    ) {
        let mut in_order = World::new();
        let mut sorted = arrival.clone();
        sorted.sort_unstable();
        sorted.into_iter().for_each(|(order, (latest, added))| in_order.ordered(latest, added, order));
        let mut as_arrived = World::new();
        arrival.into_iter().for_each(|(order, (latest, added))| as_arrived.ordered(latest, added, order));
        let (progress, baseline, _) = relative(&as_arrived);
        prop_assert_eq!((progress, baseline), (relative(&in_order).0, relative(&in_order).1));
        prop_assert_eq!(as_arrived.shown("absolute"), in_order.shown("absolute"));
    }

    /// In any order, and however often each event is delivered, absolute progress is the highest value.
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
        prop_assert_eq!(world.shown("absolute").unwrap().0, *values.iter().max().unwrap());
    }

    /// No value overflows, and within one period progress never decreases.
    #[test]
    fn progress_never_falls(events in prop::collection::vec((0..=i32::MAX, any::<i32>()), 0..30)) {
        let mut world = World::new();
        let mut before = (0, 0);
        for (latest, added) in events {
            world.statistic(latest, added);
            let after = (world.shown("absolute").unwrap().0, world.shown("relative").unwrap().0);
            prop_assert!(after.0 >= before.0 && after.1 >= before.1);
            before = after;
        }
    }
}
