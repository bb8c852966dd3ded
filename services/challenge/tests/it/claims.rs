//! Claims: exactly one grant, whatever fails meanwhile.

use std::sync::{Arc, Mutex};

use challenge::catalog::{Catalog, GoalIndex};
use challenge::claims::{ClaimError, ClaimPolicy, Claims};
use challenge::grant::Grant;
use challenge::rewards::{GrantError, GrantFuture, RewardClient};
use challenge::role::Role;
use challenge::rules::{Activation, ClaimRefusal};
use challenge::settings::Settings;
use challenge::store::{ClaimStart, OpenClaims, Store};
use challenge::user::{UserId, UserPlace};
use hyper::StatusCode;
use kit::caller_limit::CallerLimit;
use kit::env::Env;
use kit::metrics::Metrics;
use serde_json::json;
use testkit::data::TestDatabase;
use tokio::sync::Notify;

use crate::database::PORTS;
use crate::support::Server;

const LOGIN_GOAL: &str = "goal-010-01";
const GRANTS: &str = "SELECT count(*) FROM reward_ledger";

#[tokio::test]
async fn a_completed_goal_is_claimed_once() {
    let server = Server::start().await;
    server.publisher().await.log_in("ann", "1").await.unwrap();
    let ann = server.player("ann");
    let (status, claimed) = ann.claim(LOGIN_GOAL).await;
    assert_eq!(status, StatusCode::OK, "{claimed}");
    assert_eq!((&claimed["goalId"], &claimed["status"]), (&json!(LOGIN_GOAL), &json!("claimed")));
    assert_eq!(claimed["reward"], json!({"type": "WALLET", "rewardId": "GOLD", "quantity": 10}));
    assert!(claimed["claimedAt"].as_str().unwrap().ends_with('Z'));
    let (status, again) = ann.claim(LOGIN_GOAL).await;
    assert_eq!((status, &again["errorCode"]), (StatusCode::CONFLICT, &json!("ALREADY_CLAIMED")));
    assert_eq!(again["code"], 6);
    assert_eq!(ann.goal(LOGIN_GOAL).await["status"], "claimed");
    assert_eq!(server.count(GRANTS), 1);
    assert_eq!(server.count("SELECT count(*) FROM claims WHERE granted_at IS NULL"), 0);
}

#[tokio::test]
async fn a_claim_that_the_rules_refuse_is_400_and_grants_nothing() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    let ann = server.player("ann");
    ann.initialize().await;
    ann.set_active("goal-001-05", r#"{"isActive":true}"#).await;
    publisher.update_statistic("ann", "items_crafted", 50.0).await.unwrap();
    for (goal, code) in [
        ("goal-001-02", "GOAL_NOT_ACTIVE"),
        ("goal-001-01", "GOAL_NOT_COMPLETED"),
        ("goal-001-05", "PREREQUISITES_NOT_MET"),
    ] {
        let (status, answer) = ann.claim(goal).await;
        assert_eq!((status, &answer["errorCode"]), (StatusCode::BAD_REQUEST, &json!(code)), "{goal}");
        assert_eq!(answer["code"], 9, "{goal}");
    }
    assert_eq!(ann.goal("goal-001-05").await["locked"], true);
    ann.set_active("goal-001-04", r#"{"isActive":true}"#).await;
    publisher.update_statistic("ann", "damage_dealt", 40.0).await.unwrap();
    assert_eq!(ann.goal("goal-001-05").await["locked"], false, "unlocked by the user's own progress");
    assert_eq!(ann.claim("goal-001-05").await.0, StatusCode::OK);
    assert_eq!(server.count(GRANTS), 1);
}

#[tokio::test]
async fn two_hundred_simultaneous_claims_grant_once() {
    let server = Server::start().await;
    server.publisher().await.log_in("ann", "1").await.unwrap();
    let calls: Vec<_> = (0..200)
        .map(|_| server.player("ann"))
        .map(|ann| tokio::spawn(async move { ann.claim(LOGIN_GOAL).await.0 }))
        .collect();
    let mut granted = 0;
    for call in calls {
        match call.await.unwrap() {
            StatusCode::OK => granted += 1,
            status => assert_eq!(status, StatusCode::CONFLICT),
        }
    }
    assert_eq!(granted, 1);
    assert_eq!(server.count(GRANTS), 1);
}

/// A reward client that records every call and fails a given number of times.
#[derive(Default)]
struct Recorder {
    calls: Mutex<Vec<Grant>>,
    failures_left: Mutex<u32>,
    called: Notify,
    proceed: Option<Notify>,
}

impl RewardClient for Recorder {
    fn grant(&self, grant: Grant) -> GrantFuture<'_> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(grant);
            self.called.notify_one();
            if let Some(proceed) = &self.proceed {
                proceed.notified().await;
            }
            let mut left = self.failures_left.lock().unwrap();
            if *left > 0 {
                *left -= 1;
                return Err(GrantError::Unanswered("no answer in time".to_owned()));
            }
            Ok(())
        })
    }
}

fn ann() -> UserId {
    UserId::new("ann").unwrap()
}

fn place() -> UserPlace {
    CallerLimit::new(1).enter(&ann()).unwrap()
}

async fn open(database: &TestDatabase) -> (Arc<Store>, GoalIndex) {
    let catalog = Arc::new(catalog());
    let goal = catalog.find(LOGIN_GOAL).unwrap();
    let settings = crate::database::settings(database, &[]);
    let store = Store::open(&settings.store, 100, catalog, &Metrics::new("test")).await.unwrap();
    (Arc::new(store), goal)
}

fn claims(store: &Arc<Store>, rewards: &Arc<Recorder>) -> Arc<Claims> {
    let rewards = Arc::clone(rewards) as Arc<dyn RewardClient>;
    Arc::new(Claims::new(Arc::new(catalog()), Arc::clone(store), rewards, policy()))
}

/// That of the default settings.
fn policy() -> ClaimPolicy {
    Settings::read(&Env::from_pairs(PORTS), Role::All).unwrap().claims
}

fn catalog() -> Catalog {
    Catalog::parse("embedded", challenge::server::EMBEDDED_CHALLENGES).unwrap()
}

/// A database in which ann has completed the login goal.
async fn completed() -> TestDatabase {
    let server = Server::start().await;
    server.publisher().await.log_in("ann", "1").await.unwrap();
    server.stop().await
}

#[tokio::test]
async fn a_failed_grant_leaves_the_claim_open_and_the_next_one_uses_the_same_key() {
    let database = completed().await;
    let (store, goal) = open(&database).await;
    let rewards = Arc::new(Recorder { failures_left: Mutex::new(2), ..Recorder::default() });
    let claims = claims(&store, &rewards);
    for _ in 0..2 {
        assert!(matches!(claims.claim(place(), goal).await, Err(ClaimError::NotGranted(_))));
    }
    claims.claim(place(), goal).await.unwrap();
    let again = claims.claim(place(), goal).await;
    assert!(matches!(again, Err(ClaimError::Refused(ClaimRefusal::AlreadyClaimed))));
    let calls = rewards.calls.lock().unwrap();
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|call| call == &calls[0]), "one key for every attempt: {calls:?}");
}

#[tokio::test]
async fn no_transaction_is_open_while_a_reward_is_granted() {
    let database = completed().await;
    let (store, goal) = open(&database).await;
    let rewards = Arc::new(Recorder { proceed: Some(Notify::new()), ..Recorder::default() });
    let claims = claims(&store, &rewards);
    let claim = tokio::spawn({
        let claims = Arc::clone(&claims);
        async move { claims.claim(place(), goal).await }
    });
    rewards.called.notified().await;
    store.set_active(ann(), GoalIndex(3), Activation::On).await.unwrap();
    assert_eq!(
        store.open_claims(OpenClaims::All).await.unwrap().len(),
        1,
        "the intent was recorded before the call"
    );
    rewards.proceed.as_ref().unwrap().notify_one();
    claim.await.unwrap().unwrap();
    assert!(
        store.user(&ann()).await.unwrap().row(GoalIndex(3)).unwrap().is_active,
        "the write in between is kept"
    );
}

#[tokio::test]
async fn a_claim_whose_caller_is_dropped_is_carried_to_its_end() {
    let database = completed().await;
    let (store, goal) = open(&database).await;
    let rewards = Arc::new(Recorder { proceed: Some(Notify::new()), ..Recorder::default() });
    let claims = claims(&store, &rewards);
    let mut caller = Box::pin(claims.claim(place(), goal));
    tokio::select! {
        _ = &mut caller => panic!("the grant waits"),
        () = rewards.called.notified() => {}
    }
    drop(caller);
    rewards.proceed.as_ref().unwrap().notify_one();
    // The second claim waits until the first has ended, and is refused.
    let again = claims.claim(place(), goal).await;
    assert!(matches!(again, Err(ClaimError::Refused(ClaimRefusal::AlreadyClaimed))), "{again:?}");
    assert_eq!(rewards.calls.lock().unwrap().len(), 1);
}

/// The process ends after the intent, or after the grant: the next start ends the claim, with one grant.
#[tokio::test]
async fn an_interrupted_claim_is_ended_at_the_next_start() {
    for is_granted in [false, true] {
        let database = completed().await;
        let (store, goal) = open(&database).await;
        let ClaimStart::Begun(intent) =
            store.begin_claim(ann(), goal, &Arc::new(policy().terms)).await.unwrap()
        else {
            panic!("the goal is completed")
        };
        if is_granted {
            store.enter_grant(intent.grant).await.unwrap();
        }
        store.close().await;
        drop(store);
        crate::database::age_claims(&database);
        let server = Server::start_in(database, &[]).await;
        assert_eq!(server.count(GRANTS), 1);
        assert_eq!(server.player("ann").goal(LOGIN_GOAL).await["status"], "claimed");
        assert_eq!(server.player("ann").claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT);
        assert_eq!(server.count(GRANTS), 1);
    }
}
