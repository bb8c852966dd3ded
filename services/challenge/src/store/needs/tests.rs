//! A group leaves the same behind whether all rows of its users were read or only those that it needs.

use super::*;
use crate::catalog::{Counts, generate};
use crate::rules::{Activation, EventOrder, GoalRow, Happening};
use crate::store::batch::{self, Changes, Loaded};
use crate::store::claims::{ClaimIntent, ClaimKey, Recorded};
use crate::store::command::EventWrite;
use kit::clock::UtcMs;
use kit::limit::Limit;
use proptest::prelude::*;
use tokio::sync::oneshot;

const USERS: [&str; 3] = ["ann", "bob", "eve"];
/// 40 goals, 24 of them default; a statistic moves five or so, four or so are logins, every fifth waits for another.
const COUNTS: Counts = Counts { challenges: 4, goals: 10, defaults: 24 };

/// One of the things that can be asked, in a form that can be asked twice.
#[derive(Debug, Clone, Copy)]
enum Asked {
    Event { stat: usize, latest: i32 },
    Login,
    Initialize,
    SetActive(GoalIx, Activation),
    BeginClaim(GoalIx),
    EndClaim(GoalIx),
}

fn asked() -> impl Strategy<Value = (usize, Asked)> {
    let goal = || (0..40u32).prop_map(GoalIx);
    let activation = prop_oneof![Just(Activation::On), Just(Activation::Off)];
    let one = prop_oneof![
        6 => (0..8usize, 0..120i32).prop_map(|(stat, latest)| Asked::Event { stat, latest }),
        3 => Just(Asked::Login),
        1 => Just(Asked::Initialize),
        4 => (goal(), activation).prop_map(|(goal, activation)| Asked::SetActive(goal, activation)),
        4 => goal().prop_map(Asked::BeginClaim),
        4 => goal().prop_map(Asked::EndClaim),
    ];
    (0..USERS.len(), one)
}

fn user(place: usize) -> UserId {
    UserId::new(USERS[place]).unwrap()
}

/// What a store keeps; it reads what it is asked for and nothing else.
struct Kept {
    catalog: Catalog,
    users: HashMap<UserId, UserGoals>,
    claims: HashMap<ClaimKey, Recorded>,
    complete: Complete,
}

impl Kept {
    fn new() -> Self {
        let catalog = Catalog::parse("test", &generate(COUNTS)).unwrap();
        Self { catalog, users: HashMap::new(), claims: HashMap::new(), complete: Complete::default() }
    }

    fn command(&self, (whose, asked): (usize, Asked), number: usize) -> Command {
        let (user, catalog) = (user(whose), &self.catalog);
        let event = |trigger, what| {
            let (key, place) = (Some(EventKey(number as u128)), Limit::new(1).enter().unwrap());
            Command::Event(EventWrite { user: user.clone(), key, trigger, what, place }, None)
        };
        match asked {
            Asked::Event { stat, latest } => {
                let codes = ["enemy_kills", "matches_played", "matches_won", "damage_dealt", "items_crafted"];
                let trigger = catalog.statistic_trigger(codes[stat % codes.len()]).unwrap();
                event(trigger, Happening::Statistic { latest, added: 1, order: EventOrder::default() })
            }
            Asked::Login => event(catalog.login_trigger().unwrap(), Happening::Login),
            Asked::Initialize => Command::Initialize(user, oneshot::channel().0),
            Asked::SetActive(goal, activation) => {
                Command::SetActive { user, goal, activation, reply: oneshot::channel().0 }
            }
            Asked::BeginClaim(goal) => Command::BeginClaim { user, goal, reply: oneshot::channel().0 },
            Asked::EndClaim(goal) => {
                Command::EndClaim(ClaimIntent::new(catalog, &user, (goal, 0)), oneshot::channel().0)
            }
        }
    }

    fn group(&self, asked: &[(usize, Asked)]) -> Vec<Command> {
        asked.iter().zip(0..).map(|(one, number)| self.command(*one, number)).collect()
    }

    fn part(&self, user: &UserId, goals: &BTreeSet<GoalIx>) -> UserGoals {
        let rows = self.users.get(user).map_or(&[][..], UserGoals::rows);
        UserGoals::new(rows.iter().filter(|row| goals.contains(&row.goal)).cloned().collect())
    }

    /// Reads as both stores do.
    fn load(&self, mut needs: Needs<'_>) -> Loaded {
        let mut found: HashMap<UserId, UserGoals> =
            needs.parts().map(|(user, goals)| (user.clone(), self.part(user, goals))).collect();
        needs.widen(&found, &self.catalog);
        found.extend(needs.whole().filter_map(|user| Some((user.clone(), self.users.get(user)?.clone()))));
        Loaded { users: needs.held(found), applied: HashSet::new(), claims: self.claims.clone() }
    }

    /// Runs a group; returns what it changes in an order of its own, and who is complete afterwards.
    fn run(&self, asked: &[(usize, Asked)], complete: &Complete) -> (Changes, Vec<UserId>) {
        let group = self.group(asked);
        let loaded = self.load(Needs::of(&group, &self.catalog, complete));
        let mut done = batch::run(&self.catalog, group, loaded, UtcMs(7000));
        done.changes.rows.sort_by_key(|(user, row)| (user.clone(), row.goal));
        (done.changes, done.complete)
    }

    fn commit(&mut self, changes: Changes, complete: &[UserId]) {
        for (user, row) in changes.rows {
            let kept = self.users.entry(user).or_default();
            *kept.row_or_new(row.goal) = GoalRow { is_changed: false, ..row };
        }
        for (intent, granted) in changes.claims {
            self.claims.insert(intent.key(), Recorded { intent, is_granted: granted.is_some() });
        }
        self.complete.remember(complete);
    }

    fn extent(&self, one: (usize, Asked)) -> Extent {
        let group = self.group(&[one]);
        Needs::of(&group, &self.catalog, &self.complete).users.into_values().next().unwrap()
    }
}

proptest! {
    #[test]
    fn reading_only_what_is_needed_changes_nothing(
        groups in prop::collection::vec(prop::collection::vec(asked(), 1..8), 1..12),
        removed in prop::collection::vec((0..USERS.len(), 0..40u32), 0..3),
    ) {
        let mut kept = Kept::new();
        let half = groups.len() / 2;
        for (at, group) in groups.iter().enumerate() {
            if at == half {
                // Somebody else takes rows away, which no writer hears of.
                for (whose, goal) in &removed {
                    if let Some(goals) = kept.users.get_mut(&user(*whose)) {
                        let rows = goals.rows().iter().filter(|row| row.goal != GoalIx(*goal));
                        *goals = UserGoals::new(rows.cloned().collect());
                    }
                }
            }
            let (narrow, complete) = kept.run(group, &kept.complete);
            let (whole, _) = kept.run(group, &Complete::default());
            prop_assert_eq!(&narrow.keys, &whole.keys);
            prop_assert_eq!(&narrow.claims, &whole.claims);
            // A default goal that was taken away may come back with a later write instead of this one.
            if removed.is_empty() || at < half {
                prop_assert_eq!(&narrow.rows, &whole.rows);
            } else {
                prop_assert!(narrow.rows.iter().all(|row| whole.rows.contains(row)));
            }
            kept.commit(narrow, &complete);
        }
    }
}

#[test]
fn a_known_user_is_read_in_part_and_any_other_as_a_whole() {
    let mut kept = Kept::new();
    let kills = (0, Asked::Event { stat: 0, latest: 5 });
    assert_eq!(kept.extent(kills), Extent::Whole);
    let (changes, complete) = kept.run(&[kills], &kept.complete);
    assert_eq!(complete, [user(0)]);
    kept.commit(changes, &complete);
    let trigger = kept.catalog.statistic_trigger("enemy_kills").unwrap();
    let moved: BTreeSet<GoalIx> = kept.catalog.triggered(trigger).iter().copied().collect();
    assert_eq!(kept.extent(kills), Extent::Part(moved));
    assert_eq!(kept.extent((1, kills.1)), Extent::Whole);
    assert_eq!(kept.extent((0, Asked::Initialize)), Extent::Whole);
    let gated = GoalIx(4);
    let both = BTreeSet::from([GoalIx(3), gated]);
    assert_eq!(kept.extent((0, Asked::BeginClaim(gated))), Extent::Part(both));
    assert_eq!(kept.extent((0, Asked::SetActive(gated, Activation::Off))), Extent::Part([gated].into()));
}

#[test]
fn a_claim_alone_tells_nothing_of_the_default_goals() {
    let kept = Kept::new();
    let (changes, complete) = kept.run(&[(0, Asked::BeginClaim(GoalIx(0)))], &kept.complete);
    assert!(changes.rows.is_empty() && complete.is_empty());
}

#[test]
fn a_part_that_lacks_a_default_goal_is_read_again_as_a_whole() {
    let mut kept = Kept::new();
    let (changes, complete) = kept.run(&[(0, Asked::Initialize)], &kept.complete);
    kept.commit(changes, &complete);
    kept.users.clear();
    let (changes, _) = kept.run(&[(0, Asked::Event { stat: 0, latest: 5 })], &kept.complete);
    assert_eq!(changes.rows.len(), kept.catalog.defaults().len());
}

#[test]
fn a_part_that_is_hardly_less_is_not_asked_for() {
    let mut kept = Kept::new();
    kept.catalog = Catalog::parse("test", &generate(Counts { defaults: 5, ..COUNTS })).unwrap();
    kept.complete.remember(&[user(0)]);
    assert_eq!(kept.extent((0, Asked::Event { stat: 0, latest: 5 })), Extent::Whole);
}

#[test]
fn at_least_the_last_users_are_remembered_and_the_first_forgotten() {
    let users: Vec<UserId> = (0..25).map(|n| UserId::new(&format!("user-{n}")).unwrap()).collect();
    let mut complete = Complete::remembering(10);
    complete.remember(&users);
    assert!(users[15..].iter().all(|user| complete.contains(user)));
    assert!(!users[..10].iter().any(|user| complete.contains(user)));
}
