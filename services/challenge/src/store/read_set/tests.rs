//! A group has the same result whether all rows of its users were read or only those of its read set.

use super::*;

use std::sync::Arc;
use std::time::Duration;

use kit::clock::UtcMs;
use kit::limit::{Limit, Permit};
use proptest::prelude::*;

use crate::catalog::{CatalogSize, generate};
use crate::render::tests::with_rotations;
use crate::rules::{
    self, Activation, ActiveGoals, Choice, Draw, EventOrder, GoalEvent, GoalRow, OtherGoals, Selection,
    TriggeredEvent,
};
use crate::store::batch::{self, ChangedRow, GroupChanges, LoadedGroup};
use crate::store::claims::{ClaimFailure, ClaimFailureKind, ClaimKey, ClaimTerms, StoredClaim};
use crate::store::command::{EventReply, EventWrite, Reply};

const USERS: [&str; 3] = ["ann", "bob", "eve"];
/// 40 goals, 24 of them default; a statistic moves about five, about four count logins, every fifth has a prerequisite.
const SIZE: CatalogSize = CatalogSize { challenges: 4, goals: 10, defaults: 24 };

/// An operation in a form from which its command can be made more than once.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Event { stat: usize, latest: i32 },
    Login,
    Initialize,
    SetActive(GoalIndex, Activation),
    BeginClaim(GoalIndex),
    EndClaim(GoalIndex),
    LeaveClaim(GoalIndex),
    Select { goal: GoalIndex, others: OtherGoals },
    Draw(u64),
}

/// An operation of one of [`USERS`].
#[derive(Debug, Clone, Copy)]
struct UserOperation {
    user: usize,
    operation: Operation,
}

fn of_ann(operation: Operation) -> UserOperation {
    UserOperation { user: 0, operation }
}

fn any_operation() -> impl Strategy<Value = UserOperation> {
    let goal = || (0..40u32).prop_map(GoalIndex);
    let activation = prop_oneof![Just(Activation::On), Just(Activation::Off)];
    let others = prop_oneof![Just(OtherGoals::Kept), Just(OtherGoals::Replaced)];
    let operation = prop_oneof![
        6 => (0..8usize, 0..120i32).prop_map(|(stat, latest)| Operation::Event { stat, latest }),
        3 => Just(Operation::Login),
        1 => Just(Operation::Initialize),
        4 => (goal(), activation).prop_map(|(goal, activation)| Operation::SetActive(goal, activation)),
        4 => goal().prop_map(Operation::BeginClaim),
        4 => goal().prop_map(Operation::EndClaim),
        2 => goal().prop_map(Operation::LeaveClaim),
        1 => (goal(), others).prop_map(|(goal, others)| Operation::Select { goal, others }),
        1 => any::<u64>().prop_map(Operation::Draw),
    ];
    (0..USERS.len(), operation).prop_map(|(user, operation)| UserOperation { user, operation })
}

fn slot() -> Permit {
    Limit::new(1).enter().unwrap()
}

fn reply<T>() -> Reply<T> {
    Reply::new(slot()).0
}

fn terms() -> ClaimTerms {
    ClaimTerms { namespace: "test".to_owned(), max_duration: Duration::from_secs(60) }
}

fn user(index: usize) -> UserId {
    UserId::new(USERS[index]).unwrap()
}

/// A store in memory that reads exactly what it is asked for.
struct MemoryStore {
    catalog: Catalog,
    users: HashMap<UserId, UserGoals>,
    claims: HashMap<ClaimKey, StoredClaim>,
    complete: CompleteUsers,
    now: UtcMs,
}

impl MemoryStore {
    fn new() -> Self {
        let catalog = Catalog::parse("test", &with_rotations(&generate(SIZE))).unwrap();
        let (users, claims) = (HashMap::new(), HashMap::new());
        Self { catalog, users, claims, complete: CompleteUsers::default(), now: UtcMs(7000) }
    }

    fn command(&self, operation: UserOperation, number: usize) -> Command {
        let (user, catalog) = (user(operation.user), &self.catalog);
        let event = |trigger, event| {
            let (key, event) = (Some(EventKey(number as u128)), TriggeredEvent { trigger, event });
            Command::Event(EventWrite { user: user.clone(), key, event }, EventReply::Sent(slot()))
        };
        let intent = |goal| {
            let goal = catalog.goal(goal);
            let key = ClaimKey { user: user.clone(), goal_id: goal.id.clone(), period: 0 };
            StoredClaim::begun(&key, goal, &terms(), UtcMs(7000)).intent
        };
        match operation.operation {
            Operation::Event { stat, latest } => {
                let codes = ["enemy_kills", "matches_played", "matches_won", "damage_dealt", "items_crafted"];
                let trigger = catalog.statistic_trigger(codes[stat % codes.len()]).unwrap();
                event(trigger, GoalEvent::Statistic { latest, added: 1, order: EventOrder::default() })
            }
            Operation::Login => {
                event(catalog.login_trigger().unwrap(), GoalEvent::Login { order: EventOrder::default() })
            }
            Operation::Initialize => Command::Initialize(user, reply()),
            Operation::SetActive(goal, activation) => {
                Command::SetActive { user, goal, activation, reply: reply() }
            }
            Operation::BeginClaim(goal) => {
                Command::BeginClaim { user, goal, terms: Arc::new(terms()), reply: reply() }
            }
            Operation::EndClaim(goal) => Command::EndClaim(intent(goal), reply()),
            Operation::Select { goal, others } => {
                let challenge = catalog.goal(goal).challenge;
                let selection = Selection { challenge, choice: Choice::Named(vec![goal]), others };
                Command::Select { user, selection, reply: reply() }
            }
            Operation::Draw(seed) => {
                let challenge = catalog.goal(GoalIndex(0)).challenge;
                let choice = Choice::Drawn(Draw { count: 2, active: ActiveGoals::Excluded, seed });
                let selection = Selection { challenge, choice, others: OtherGoals::Kept };
                Command::Select { user, selection, reply: reply() }
            }
            Operation::LeaveClaim(goal) => {
                let failure = ClaimFailure { kind: ClaimFailureKind::Refused, retry_at: UtcMs(9000) };
                Command::LeaveClaim(intent(goal), failure, reply())
            }
        }
    }

    fn group(&self, operations: &[UserOperation]) -> Vec<Command> {
        operations.iter().zip(0..).map(|(operation, number)| self.command(*operation, number)).collect()
    }

    fn part(&self, part: UserPart<'_, '_>) -> UserGoals {
        let rows = self.users.get(part.user).map_or(&[][..], UserGoals::rows);
        UserGoals::new(rows.iter().filter(|row| part.goals.contains(&row.goal)).cloned().collect())
    }

    /// Reads as both stores do.
    fn load(&self, mut read_set: ReadSet<'_>) -> LoadedGroup {
        let mut found: HashMap<UserId, UserGoals> =
            read_set.parts().map(|part| (part.user.clone(), self.part(part))).collect();
        read_set.widen(&found, &self.catalog);
        found.extend(read_set.whole().filter_map(|user| Some((user.clone(), self.users.get(user)?.clone()))));
        LoadedGroup { users: read_set.loaded(found), applied: HashSet::new(), claims: self.claims.clone() }
    }

    /// Runs a group; returns what it changes, sorted, and the users who are complete afterwards.
    fn run(&self, operations: &[UserOperation], complete: &CompleteUsers) -> (GroupChanges, Vec<UserId>) {
        let mut group = self.group(operations);
        let loaded = self.load(ReadSet::collect(&group, &self.catalog, complete));
        let mut outcome = batch::run(&self.catalog, &mut group, loaded, self.now);
        outcome.changes.rows.sort_by_key(|changed| (changed.user.clone(), changed.row.goal));
        let key = |claim: &StoredClaim| (claim.intent.user.clone(), claim.intent.goal_id.clone());
        outcome.changes.claims.sort_by_key(key);
        (outcome.changes, outcome.complete)
    }

    /// Without rows that were only reset because their period is over: they are reset whenever they are read.
    fn beyond_resets(&self, rows: &[ChangedRow]) -> Vec<ChangedRow> {
        let is_reset = |changed: &&ChangedRow| {
            let mut goals = self.users.get(&changed.user).cloned().unwrap_or_default();
            rules::rotate(&self.catalog, &mut goals, self.now);
            goals.row(changed.row.goal) == Some(&changed.row)
        };
        rows.iter().filter(|changed| !is_reset(changed)).cloned().collect()
    }

    fn commit(&mut self, changes: GroupChanges, complete: &[UserId]) {
        for changed in changes.rows {
            let stored = self.users.entry(changed.user).or_default();
            *stored.row_or_new(changed.row.goal) = GoalRow { is_changed: false, ..changed.row };
        }
        for claim in changes.claims {
            self.claims.insert(claim.intent.key(), StoredClaim { is_changed: false, ..claim });
        }
        self.complete.remember(complete);
    }

    fn extent(&self, operation: UserOperation) -> ReadExtent {
        let group = self.group(&[operation]);
        ReadSet::collect(&group, &self.catalog, &self.complete).users.into_values().next().unwrap()
    }
}

proptest! {
    #[test]
    fn reading_only_the_read_set_changes_no_result(
        groups in prop::collection::vec(prop::collection::vec(any_operation(), 1..8), 1..12),
        removed in prop::collection::vec((0..USERS.len(), 0..40u32), 0..3),
    ) {
        let mut store = MemoryStore::new();
        let half = groups.len() / 2;
        for (at, group) in groups.iter().enumerate() {
            // Several groups in each day.
            store.now = UtcMs(store.now.0 + 5 * 3_600_000);
            if at == half {
                // Another program deletes rows, of which no writer is notified.
                for (index, goal) in &removed {
                    if let Some(goals) = store.users.get_mut(&user(*index)) {
                        let rows = goals.rows().iter().filter(|row| row.goal != GoalIndex(*goal));
                        *goals = UserGoals::new(rows.cloned().collect());
                    }
                }
            }
            let (narrow, complete) = store.run(group, &store.complete);
            let (whole, _) = store.run(group, &CompleteUsers::default());
            prop_assert_eq!(&narrow.keys, &whole.keys);
            prop_assert_eq!(&narrow.claims, &whole.claims);
            // A default goal that was deleted may come back with a later write instead of this one.
            if removed.is_empty() || at < half {
                prop_assert_eq!(store.beyond_resets(&narrow.rows), store.beyond_resets(&whole.rows));
            } else {
                prop_assert!(narrow.rows.iter().all(|row| whole.rows.contains(row)));
            }
            store.commit(narrow, &complete);
        }
    }
}

#[test]
fn a_known_user_is_read_in_part_and_any_other_as_a_whole() {
    let mut store = MemoryStore::new();
    let kills = Operation::Event { stat: 0, latest: 5 };
    assert_eq!(store.extent(of_ann(kills)), ReadExtent::Whole);
    let (changes, complete) = store.run(&[of_ann(kills)], &store.complete);
    assert_eq!(complete, [user(0)]);
    store.commit(changes, &complete);
    let trigger = store.catalog.statistic_trigger("enemy_kills").unwrap();
    let moved: BTreeSet<GoalIndex> = store.catalog.triggered(trigger).iter().copied().collect();
    assert_eq!(store.extent(of_ann(kills)), ReadExtent::Part(moved));
    assert_eq!(store.extent(UserOperation { user: 1, operation: kills }), ReadExtent::Whole);
    assert_eq!(store.extent(of_ann(Operation::Initialize)), ReadExtent::Whole);
    let gated = GoalIndex(4);
    let both = BTreeSet::from([GoalIndex(3), gated]);
    assert_eq!(store.extent(of_ann(Operation::BeginClaim(gated))), ReadExtent::Part(both));
    let switched_off = of_ann(Operation::SetActive(gated, Activation::Off));
    assert_eq!(store.extent(switched_off), ReadExtent::Part([gated].into()));
}

#[test]
fn a_claim_alone_does_not_make_a_user_complete() {
    let store = MemoryStore::new();
    let (changes, complete) = store.run(&[of_ann(Operation::BeginClaim(GoalIndex(0)))], &store.complete);
    assert!(changes.rows.is_empty() && complete.is_empty());
}

#[test]
fn a_part_that_lacks_a_default_goal_is_read_again_as_a_whole() {
    let mut store = MemoryStore::new();
    let (changes, complete) = store.run(&[of_ann(Operation::Initialize)], &store.complete);
    store.commit(changes, &complete);
    store.users.clear();
    let event = of_ann(Operation::Event { stat: 0, latest: 5 });
    let (changes, _) = store.run(&[event], &store.complete);
    assert_eq!(changes.rows.len(), store.catalog.defaults().len());
}

#[test]
fn a_part_of_more_than_half_the_default_goals_is_read_as_a_whole() {
    let mut store = MemoryStore::new();
    store.catalog = Catalog::parse("test", &generate(CatalogSize { defaults: 5, ..SIZE })).unwrap();
    store.complete.remember(&[user(0)]);
    assert_eq!(store.extent(of_ann(Operation::Event { stat: 0, latest: 5 })), ReadExtent::Whole);
}

#[test]
fn at_least_the_last_users_are_remembered_and_the_first_forgotten() {
    let users: Vec<UserId> = (0..25).map(|n| UserId::new(&format!("user-{n}")).unwrap()).collect();
    let mut complete = CompleteUsers::with_capacity(10);
    complete.remember(&users);
    assert!(users[15..].iter().all(|user| complete.contains(user)));
    assert!(!users[..10].iter().any(|user| complete.contains(user)));
}
