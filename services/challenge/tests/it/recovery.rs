//! Claims that were left open: each is tried again, none starves another, and one that is always refused ends.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use challenge::catalog::{Catalog, GoalIndex};
use challenge::claims::{ClaimPolicy, Claims};
use challenge::grant::Grant;
use challenge::rewards::{GrantError, GrantFuture, RewardClient};
use challenge::role::Role;
use challenge::settings::Settings;
use challenge::store::{ClaimStart, OpenClaims, Store};
use challenge::user::{UserId, UserPlace};
use kit::caller_limit::CallerLimit;
use kit::clock::UtcMs;
use kit::env::Env;
use kit::metrics::Metrics;
use testkit::data::TestDatabase;

use crate::database::PORTS;
use crate::support::Server;

const LOGIN_GOAL: &str = "goal-010-01";

/// Answers as configured for each user, and records every call.
struct Picky {
    answer: fn(&str) -> Result<(), GrantError>,
    calls: Mutex<Vec<String>>,
}

impl Picky {
    fn new(answer: fn(&str) -> Result<(), GrantError>) -> Arc<Self> {
        Arc::new(Self { answer, calls: Mutex::default() })
    }

    fn users(&self) -> BTreeSet<String> {
        self.calls.lock().unwrap().iter().cloned().collect()
    }

    fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

impl RewardClient for Picky {
    fn grant(&self, grant: Grant) -> GrantFuture<'_> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(grant.user.to_string());
            (self.answer)(grant.user.as_str())
        })
    }
}

fn user(number: usize) -> String {
    format!("user-{number:02}")
}

fn place(number: usize) -> UserPlace {
    CallerLimit::new(1).enter(&UserId::new(&user(number)).unwrap()).unwrap()
}

/// A store in which `count` users have begun to claim the login goal, in the order of their numbers.
async fn open_claims(database: &TestDatabase, count: usize) -> (Arc<Store>, Arc<Catalog>, GoalIndex) {
    let catalog = Arc::new(Catalog::parse("embedded", challenge::server::EMBEDDED_CHALLENGES).unwrap());
    let goal = catalog.find(LOGIN_GOAL).unwrap();
    let settings = crate::database::settings(database, &[]);
    let store = Store::open(&settings.store, 100, Arc::clone(&catalog), &Metrics::new("test")).await.unwrap();
    for number in 0..count {
        let user = UserId::new(&user(number)).unwrap();
        let begun = store.begin_claim(user, goal, &Arc::new(policy().terms)).await.unwrap();
        assert!(matches!(begun, ClaimStart::Begun(_)), "{begun:?}");
    }
    (Arc::new(store), catalog, goal)
}

/// That of the default settings.
fn policy() -> ClaimPolicy {
    Settings::read(&Env::from_pairs(PORTS), Role::All).unwrap().claims
}

fn claims(catalog: Arc<Catalog>, store: &Arc<Store>, rewards: &Arc<Picky>) -> Arc<Claims> {
    let rewards = Arc::clone(rewards) as Arc<dyn RewardClient>;
    Arc::new(Claims::new(catalog, Arc::clone(store), rewards, policy()))
}

async fn completed(count: usize) -> TestDatabase {
    let server = Server::start().await;
    for number in 0..count {
        server.publisher().await.log_in(&user(number), "1").await.unwrap();
    }
    server.stop().await
}

/// The reward service never answers for the sixteen oldest; the others must not wait for them.
#[tokio::test]
async fn claims_that_are_never_answered_do_not_keep_the_others_from_their_turn() {
    let database = completed(20).await;
    let (store, catalog, _) = open_claims(&database, 20).await;
    let rewards = Picky::new(|user| match user < "user-16" {
        true => Err(GrantError::Unanswered("no answer".to_owned())),
        false => Ok(()),
    });
    let claims = claims(catalog, &store, &rewards);
    for _search in 0..2 {
        claims.resume(OpenClaims::All).await.unwrap();
    }
    let asked = rewards.users();
    assert!((16..20).all(|number| asked.contains(&user(number))), "{asked:?}");
}

/// Refuses every claim in as many searches, which find each one due; returns how often the reward service was asked.
async fn refuse(
    database: &TestDatabase,
    catalog: &Arc<Catalog>,
    store: &Arc<Store>,
    searches: usize,
) -> usize {
    let rewards = Picky::new(|_| Err(GrantError::Refused("no".to_owned())));
    let refused = claims(Arc::clone(catalog), store, &rewards);
    for _search in 0..searches {
        crate::database::age_claims(database);
        refused.resume(OpenClaims::All).await.unwrap();
    }
    rewards.count()
}

#[tokio::test]
async fn a_claim_that_is_always_refused_ends_and_can_be_claimed_again() {
    let database = completed(1).await;
    let (store, catalog, goal) = open_claims(&database, 1).await;
    assert_eq!(refuse(&database, &catalog, &store, 20).await, 8);
    assert_eq!(store.open_claims(OpenClaims::All).await.unwrap(), []);
    assert_eq!(database.count("SELECT count(*) FROM claims WHERE refused_at IS NOT NULL"), 1);
    let mended = claims(catalog, &store, &Picky::new(|_| Ok(())));
    mended.claim(place(0), goal).await.unwrap();
    assert_eq!(database.count("SELECT count(*) FROM claims WHERE refused_at IS NULL"), 1);
}

/// A token that has expired, a player who taps, and searches of several replicas: all within seconds.
#[tokio::test]
async fn refusals_before_a_claim_is_due_do_not_end_it() {
    let database = completed(1).await;
    let (store, catalog, goal) = open_claims(&database, 1).await;
    let rewards = Picky::new(|_| Err(GrantError::Refused("the token has expired".to_owned())));
    let refused = claims(catalog, &store, &rewards);
    crate::database::age_claims(&database);
    for _ in 0..10 {
        refused.claim(place(0), goal).await.unwrap_err();
        refused.resume(OpenClaims::All).await.unwrap();
    }
    assert_eq!(rewards.count(), 20, "each was an attempt");
    assert_eq!(store.open_claims(OpenClaims::All).await.unwrap().len(), 1, "it is open");
    assert_eq!(database.count("SELECT refusals FROM claims"), 1, "the first was due");
}

/// The attempt of a player who claims again may be granted without an answer, or end with its process.
#[tokio::test]
async fn a_claim_that_ended_is_open_again_when_its_player_claims() {
    for is_unanswered in [true, false] {
        let database = completed(1).await;
        let (store, catalog, goal) = open_claims(&database, 1).await;
        refuse(&database, &catalog, &store, 8).await;
        assert_eq!(store.open_claims(OpenClaims::All).await.unwrap(), []);
        if is_unanswered {
            let unanswered = Picky::new(|_| Err(GrantError::Unanswered("no answer".to_owned())));
            claims(Arc::clone(&catalog), &store, &unanswered).claim(place(0), goal).await.unwrap_err();
        } else {
            store.begin_claim(UserId::new(&user(0)).unwrap(), goal, &Arc::new(policy().terms)).await.unwrap();
        }
        let now = UtcMs::now();
        let granting = claims(catalog, &store, &Picky::new(|_| Ok(())));
        assert_eq!(
            store.open_claims(granting.due(now)).await.unwrap(),
            [],
            "the attempt may still be answered"
        );
        let late = granting.due(UtcMs(now.0 + 620_000));
        assert_eq!(
            granting.resume(late).await.unwrap(),
            1,
            "found by the search; unanswered: {is_unanswered}"
        );
        assert_eq!(database.count("SELECT count(*) FROM claims WHERE granted_at IS NOT NULL"), 1);
    }
}

/// A row that another program wrote.
#[tokio::test]
async fn a_claim_of_an_invalid_user_does_not_keep_the_others_from_their_turn() {
    let database = completed(2).await;
    let (store, catalog, _) = open_claims(&database, 2).await;
    database.run("UPDATE claims SET user_id = '' WHERE user_id = 'user-00'");
    let claims = claims(catalog, &store, &Picky::new(|_| Ok(())));
    assert_eq!(claims.resume(OpenClaims::All).await.unwrap(), 1);
}

/// Between two attempts the claim's age doubles, after at least two periods and at most ten minutes; a restart changes
/// nothing. A clock that is set back by more delays nothing.
#[tokio::test]
async fn each_claim_waits_longer_after_each_attempt_and_no_longer_than_ten_minutes() {
    let database = completed(1).await;
    let (store, catalog, _) = open_claims(&database, 1).await;
    let rewards = Picky::new(|_| Err(GrantError::Unanswered("no answer".to_owned())));
    let claims = claims(catalog, &store, &rewards);
    let now = UtcMs::now();
    let due_in = async |seconds: i64| {
        let due = claims.due(UtcMs(now.0 + seconds * 1000));
        !store.open_claims(due).await.unwrap().is_empty()
    };
    assert!(!due_in(55).await && due_in(70).await, "not while it may still be carried out, then at once");
    claims.resume(OpenClaims::All).await.unwrap();
    assert!(!due_in(55).await && due_in(70).await, "a young claim");
    crate::database::age_claims(&database);
    claims.resume(OpenClaims::All).await.unwrap();
    assert!(!due_in(590).await && due_in(620).await, "an old claim");
    assert!(due_in(-3600).await, "the clock was set back");
    assert_eq!(rewards.count(), 2);
}
