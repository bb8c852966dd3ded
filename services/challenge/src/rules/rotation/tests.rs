//! What boundaries reset, at their exact instants; days that count once; and rows that are brought up to date late.

use super::*;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::rules::{
    Activation, ActivityChange, EventOrder, GoalEvent, TriggeredEvent, apply, assign_defaults, claimable,
    end_claim, progress, set_active, status,
};

/// `onExpiry` of a goal, and its name in these tests.
#[derive(Clone, Copy)]
struct OnExpiry {
    name: &'static str,
    resets: bool,
    resets_claimed: bool,
}

const ON_EXPIRY: [OnExpiry; 3] = [
    OnExpiry { name: "nothing", resets: false, resets_claimed: false },
    OnExpiry { name: "unclaimed", resets: true, resets_claimed: false },
    OnExpiry { name: "everything", resets: true, resets_claimed: true },
];
const SCHEDULES: [&str; 3] = ["daily", "weekly", "monthly"];

fn goal(id: &str, mode: &str, rotation: Option<Value>) -> Value {
    let mut goal = json!({
        "goalId": id, "name": id, "eventSource": "statistic", "defaultAssigned": true,
        "requirement": { "statCode": "kills", "operator": ">=", "targetValue": 10, "progressMode": mode },
        "reward": { "type": "ITEM", "rewardId": "sword", "quantity": 1 },
    });
    if let Some(rotation) = rotation {
        goal["rotation"] = rotation;
    }
    goal
}

fn rotation(schedule: &str, on_expiry: OnExpiry) -> Value {
    let OnExpiry { resets, resets_claimed, .. } = on_expiry;
    let on_expiry = json!({ "resetProgress": resets, "allowReselection": resets_claimed });
    json!({ "enabled": true, "type": "global", "schedule": schedule, "onExpiry": on_expiry })
}

/// A relative goal for each schedule and each reset, such as `daily-everything`; `fixed` has no periods; `login` counts
/// at most one login a day until five, `weekly-login` as well and begins again every week.
fn catalog() -> Catalog {
    let mut goals = vec![goal("fixed", "relative", None)];
    for schedule in SCHEDULES {
        for on_expiry in ON_EXPIRY {
            let id = format!("{schedule}-{}", on_expiry.name);
            goals.push(goal(&id, "relative", Some(rotation(schedule, on_expiry))));
        }
    }
    for (id, rotation) in [("login", None), ("weekly-login", Some(rotation("weekly", ON_EXPIRY[2])))] {
        let mut login = goal(id, "relative", rotation);
        login["eventSource"] = "login".into();
        login["type"] = "daily".into();
        login["requirement"] = json!({ "statCode": "logins", "operator": ">=", "targetValue": 5 });
        goals.push(login);
    }
    let file = json!({ "challenges": [{ "challengeId": "c", "name": "c", "goals": goals }] });
    Catalog::parse("test", &file.to_string()).unwrap()
}

fn at(text: &str) -> UtcMs {
    UtcMs::parse(text).unwrap()
}

/// When an event happened, if it says so, and when it arrives.
#[derive(Clone, Copy)]
struct When {
    happened_at: Option<UtcMs>,
    now: UtcMs,
}

/// An event without a time.
fn untimed(now: UtcMs) -> When {
    When { happened_at: None, now }
}

/// A user, and what was granted: goal and period.
#[derive(Clone)]
struct World {
    user: UserGoals,
    kills: i32,
    granted: Vec<(GoalIndex, i64)>,
}

impl World {
    fn new(catalog: &Catalog, now: UtcMs) -> Self {
        let mut user = UserGoals::default();
        assign_defaults(catalog, &mut user, now);
        Self { user, kills: 1_000, granted: Vec::new() }
    }

    /// As the writer of a store does before any command.
    fn rotated(&mut self, catalog: &Catalog, now: UtcMs) -> &mut UserGoals {
        rotate(catalog, &mut self.user, now);
        &mut self.user
    }

    fn kill(&mut self, catalog: &Catalog, added: i32, when: When) {
        let When { happened_at, now } = when;
        self.kills += added;
        let order = EventOrder { version: None, occurred_at: happened_at };
        let event = GoalEvent::Statistic { latest: self.kills, added, order };
        let trigger = catalog.statistic_trigger("kills").unwrap();
        apply(catalog, self.rotated(catalog, now), TriggeredEvent { trigger, event }, now);
    }

    fn log_in(&mut self, catalog: &Catalog, happened_at: Option<UtcMs>, now: UtcMs) {
        let event = GoalEvent::Login { order: EventOrder { version: None, occurred_at: happened_at } };
        let trigger = catalog.login_trigger().unwrap();
        apply(catalog, self.rotated(catalog, now), TriggeredEvent { trigger, event }, now);
    }

    /// Claims the goal if the rules allow it.
    fn claim(&mut self, catalog: &Catalog, goal: GoalIndex, now: UtcMs) -> bool {
        let user = self.rotated(catalog, now);
        let Ok(period) = claimable(catalog, user, goal).map(|row| row.period) else { return false };
        end_claim(catalog.goal(goal), user.row_mut(goal).unwrap(), period, now);
        self.granted.push((goal, period));
        true
    }

    fn shown(&self, catalog: &Catalog, id: &str, now: UtcMs) -> (i32, &'static str) {
        let goal = catalog.find(id).unwrap();
        let mut user = self.user.clone();
        rotate(catalog, &mut user, now);
        let row = user.row(goal).unwrap();
        (progress(catalog.goal(goal), row), status(catalog.goal(goal), row).name())
    }
}

const LAST_MOMENTS: [(&str, &str, &str); 3] = [
    ("daily", "2026-11-24T23:59:59.999Z", "2026-11-25T00:00:00Z"),
    ("weekly", "2026-11-29T23:59:59.999Z", "2026-11-30T00:00:00Z"),
    ("monthly", "2026-11-30T23:59:59.999Z", "2026-12-01T00:00:00Z"),
];

#[test]
fn a_boundary_resets_what_the_goal_says_and_not_a_millisecond_before() {
    let catalog = catalog();
    let began = at("2026-11-24T12:00:00Z");
    let shown_after = |added: i32, id: &str, now: UtcMs| {
        let mut world = World::new(&catalog, began);
        world.kill(&catalog, added, untimed(began));
        assert_eq!(world.claim(&catalog, catalog.find(id).unwrap(), began), added >= 10);
        world.shown(&catalog, id, now)
    };
    for (schedule, before, boundary) in LAST_MOMENTS {
        for OnExpiry { name, resets, resets_claimed } in ON_EXPIRY {
            let id = format!("{schedule}-{name}");
            assert_eq!(shown_after(3, &id, at(before)), (3, "in_progress"), "{id}");
            let after = if resets { (0, "not_started") } else { (3, "in_progress") };
            assert_eq!(shown_after(3, &id, at(boundary)), after, "{id}");
            assert_eq!(shown_after(12, &id, at(before)), (12, "claimed"), "{id}");
            let after = if resets_claimed { (0, "not_started") } else { (12, "claimed") };
            assert_eq!(shown_after(12, &id, at(boundary)), after, "{id}");
        }
    }
}

#[test]
fn a_completed_goal_that_was_not_claimed_in_time_is_reset_or_stays_completed() {
    let catalog = catalog();
    let mut world = World::new(&catalog, at("2026-11-24T12:00:00Z"));
    world.kill(&catalog, 10, untimed(at("2026-11-24T23:59:59.999Z")));
    let now = at("2026-11-25T00:00:00Z");
    assert_eq!(world.shown(&catalog, "daily-everything", now), (0, "not_started"));
    assert_eq!(world.shown(&catalog, "daily-unclaimed", now), (0, "not_started"));
    assert_eq!(world.shown(&catalog, "daily-nothing", now), (10, "completed"));
    assert!(!world.claim(&catalog, catalog.find("daily-everything").unwrap(), now));
    assert!(world.claim(&catalog, catalog.find("daily-nothing").unwrap(), now));
}

#[test]
fn in_a_new_period_a_relative_goal_counts_from_the_value_before_its_first_event() {
    let catalog = catalog();
    let mut world = World::new(&catalog, at("2026-11-24T12:00:00Z"));
    world.kill(&catalog, 7, untimed(at("2026-11-24T12:00:00Z")));
    // Not delivered, so no one knows of them.
    world.kills += 100;
    let now = at("2026-11-25T08:00:00Z");
    world.kill(&catalog, 2, untimed(now));
    assert_eq!(world.shown(&catalog, "daily-everything", now).0, 2);
    assert_eq!(world.shown(&catalog, "weekly-everything", now).0, 109);
    assert_eq!(world.shown(&catalog, "fixed", now).0, 109);
}

#[test]
fn an_event_of_an_earlier_period_that_arrives_late_does_not_count_in_this_one() {
    let catalog = catalog();
    let (before, now) = (at("2026-11-24T23:59:59Z"), at("2026-11-25T00:00:01Z"));
    let mut world = World::new(&catalog, before);
    world.kills = 1_004;
    world.kill(&catalog, 3, When { happened_at: Some(now), now });
    world.kills = 1_000;
    world.kill(&catalog, 4, When { happened_at: Some(before), now });
    assert_eq!(world.shown(&catalog, "daily-everything", now).0, 3);
    assert_eq!(world.shown(&catalog, "weekly-everything", now).0, 7);
}

#[test]
fn a_clock_that_is_set_back_reopens_no_period() {
    let catalog = catalog();
    let (monday, tuesday) = (at("2026-11-23T12:00:00Z"), at("2026-11-24T12:00:00Z"));
    let daily = catalog.find("daily-everything").unwrap();
    let mut world = World::new(&catalog, monday);
    world.kill(&catalog, 10, untimed(monday));
    assert!(world.claim(&catalog, daily, monday));
    world.kill(&catalog, 10, untimed(tuesday));
    assert!(world.claim(&catalog, daily, tuesday));
    world.kill(&catalog, 10, untimed(monday));
    assert!(!world.claim(&catalog, daily, monday));
    assert_eq!(world.shown(&catalog, "daily-everything", tuesday).1, "claimed");
}

#[test]
fn a_grant_of_an_earlier_period_does_not_mark_a_goal_that_can_be_claimed_again() {
    let catalog = catalog();
    let (monday, tuesday) = (at("2026-11-23T23:59:59Z"), at("2026-11-24T00:00:01Z"));
    for (id, shown) in
        [("daily-everything", "not_started"), ("daily-unclaimed", "claimed"), ("daily-nothing", "claimed")]
    {
        let goal = catalog.find(id).unwrap();
        let mut world = World::new(&catalog, monday);
        world.kill(&catalog, 10, untimed(monday));
        let begun_in = claimable(&catalog, &world.user, goal).unwrap().period;
        let row = world.rotated(&catalog, tuesday).row_mut(goal).unwrap();
        end_claim(catalog.goal(goal), row, begun_in, tuesday);
        assert_eq!(world.shown(&catalog, id, tuesday).1, shown, "{id}");
    }
}

#[test]
fn what_was_achieved_before_a_goal_had_periods_belongs_to_none() {
    let catalog = catalog();
    let mut world = World::new(&catalog, at("2026-11-24T12:00:00Z"));
    world.kill(&catalog, 4, untimed(at("2026-11-24T12:00:00Z")));
    world.user.rows_mut().iter_mut().for_each(|row| row.period = 0);
    let now = at("2026-11-24T13:00:00Z");
    assert_eq!(world.shown(&catalog, "daily-unclaimed", now).0, 0);
    assert_eq!(world.shown(&catalog, "daily-nothing", now).0, 4);
}

#[test]
fn a_daily_goal_counts_at_most_once_a_day_in_utc() {
    let catalog = catalog();
    let monday = at("2026-11-23T12:00:00Z");
    let mut world = World::new(&catalog, monday);
    let mut progress = Vec::new();
    for (happened_at, now) in [
        (None, "2026-11-23T23:59:59.998Z"),
        (None, "2026-11-23T23:59:59.999Z"),
        (None, "2026-11-24T00:00:00Z"),
        // Late, but of a day that may have been counted.
        (Some("2026-11-23T23:00:00Z"), "2026-11-24T00:00:01Z"),
        // Of today, although it says tomorrow.
        (Some("2099-12-31T00:00:00Z"), "2026-11-24T12:00:00Z"),
        // Delivered a day late, before any of its successors.
        (Some("2026-11-25T12:00:00Z"), "2026-11-26T01:00:00Z"),
        (Some("2026-11-26T00:59:59Z"), "2026-11-26T01:00:00Z"),
        // The clock was set back.
        (None, "2026-11-25T12:00:00Z"),
        (None, "2026-11-27T12:00:00Z"),
    ] {
        world.log_in(&catalog, happened_at.map(at), at(now));
        progress.push(world.shown(&catalog, "login", at(now)).0);
    }
    assert_eq!(progress, [1, 1, 2, 2, 2, 3, 4, 4, 5]);
    assert_eq!(world.shown(&catalog, "login", at("2026-11-27T12:00:00Z")).1, "completed");
    assert_eq!(world.shown(&catalog, "weekly-login", at("2026-11-30T00:00:00Z")), (0, "not_started"));
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Wait(i64),
    Kill(i32),
    LogIn,
    Claim(u32),
    Switch(u32, Activation),
}

const HOUR_MS: i64 = 3_600_000;

/// Steps of a user; the clock is set back by at most `back_ms` at once.
fn steps(back_ms: i64) -> impl Strategy<Value = Vec<Step>> {
    let goal = || 0..12u32;
    let activation = prop_oneof![3 => Just(Activation::On), 1 => Just(Activation::Off)];
    let step = prop_oneof![
        3 => (-back_ms..60 * HOUR_MS).prop_map(Step::Wait),
        1 => (0..40 * 24 * HOUR_MS).prop_map(Step::Wait),
        6 => (0..8i32).prop_map(Step::Kill),
        3 => Just(Step::LogIn),
        6 => goal().prop_map(Step::Claim),
        1 => (goal(), activation).prop_map(|(goal, activation)| Step::Switch(goal, activation)),
    ];
    prop::collection::vec(step, 1..80)
}

impl World {
    fn step(&mut self, catalog: &Catalog, step: Step, now: UtcMs) {
        match step {
            Step::Wait(_) => {}
            Step::Kill(added) => self.kill(catalog, added, untimed(now)),
            Step::LogIn => self.log_in(catalog, None, now),
            Step::Claim(goal) => drop(self.claim(catalog, GoalIndex(goal), now)),
            Step::Switch(goal, activation) => {
                let change = ActivityChange { goal: GoalIndex(goal), activation };
                set_active(catalog, self.rotated(catalog, now), change, now);
            }
        }
    }
}

fn after(step: Step, now: UtcMs) -> UtcMs {
    if let Step::Wait(ms) = step { UtcMs(now.0 + ms) } else { now }
}

proptest! {
    /// Whether rows are brought up to date at every step, or only when they are written next, makes no difference.
    #[test]
    fn nothing_has_to_run_at_a_boundary(steps in steps(0)) {
        let catalog = catalog();
        let mut now = at("2026-11-24T12:00:00Z");
        let (mut eager, mut lazy) = (World::new(&catalog, now), World::new(&catalog, now));
        for step in steps {
            now = after(step, now);
            eager.rotated(&catalog, now);
            eager.step(&catalog, step, now);
            lazy.step(&catalog, step, now);
            prop_assert_eq!(&eager.granted, &lazy.granted);
            for (_, goal) in catalog.goals() {
                let [eager, lazy] = [&eager, &lazy].map(|world| world.shown(&catalog, &goal.id, now));
                prop_assert_eq!(eager, lazy, "{}", goal.id);
            }
        }
    }

    /// Each goal's reward is granted once in each period, or once at all, also when the clock is set back.
    #[test]
    fn each_period_grants_once(steps in steps(30 * HOUR_MS)) {
        let catalog = catalog();
        let mut now = at("2026-11-24T12:00:00Z");
        let mut world = World::new(&catalog, now);
        for step in steps {
            now = after(step, now);
            world.step(&catalog, step, now);
        }
        let once = |(goal, period): &(GoalIndex, i64)| {
            let is_repeatable = is_repeatable(catalog.goal(*goal));
            (*goal, if is_repeatable { *period } else { 0 })
        };
        let granted: std::collections::BTreeSet<_> = world.granted.iter().map(once).collect();
        prop_assert_eq!(granted.len(), world.granted.len(), "granted twice: {:?}", world.granted);
    }
}
