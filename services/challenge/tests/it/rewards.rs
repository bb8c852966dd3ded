//! Rewards granted by a real HTTP service that fails in configured ways: one grant, whatever fails.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::{Value, json};
use testkit::data::TestDatabase;
use testkit::until;

use crate::process::started;
use crate::reward_server::{RewardReaction, RewardServer};
use crate::support::{Player, Publisher, Server};

const LOGIN_GOAL: &str = "goal-010-01";
const OPEN: &str = "SELECT count(*) FROM claims WHERE granted_at IS NULL";

/// A server that uses the reward service, and a player who has completed the login goal.
async fn server(rewards: &RewardServer, settings: &[(&str, &str)]) -> (Server, Player) {
    let reward_settings = rewards.settings();
    let reward_settings = reward_settings.iter().map(|(name, value)| (*name, value.as_str()));
    let server =
        Server::start_with(&reward_settings.chain(settings.iter().copied()).collect::<Vec<_>>()).await;
    server.publisher().await.log_in("ann", "1").await.unwrap();
    let ann = server.player("ann");
    (server, ann)
}

fn keys(rewards: &RewardServer) -> BTreeSet<String> {
    rewards.requests().iter().map(|request| request.headers["idempotency-key"].clone()).collect()
}

#[tokio::test]
async fn a_grant_request_has_every_field() {
    let rewards = RewardServer::start(&[]).await;
    let (server, ann) = server(&rewards, &[]).await;
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::OK);
    let requests = rewards.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(request.line, "POST /v1/grants HTTP/1.1");
    assert_eq!(request.headers["authorization"], "Bearer the-reward-token");
    assert_eq!(request.headers["content-type"], "application/json");
    let key = &request.headers["idempotency-key"];
    assert_eq!(
        request.body,
        json!({
            "userId": "ann", "namespace": "accelbyte", "rewardType": "WALLET", "rewardId": "GOLD",
            "quantity": 10, "idempotencyKey": key,
        })
    );
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger"), 0, "the ledger is not in use");
    let metrics = server.metrics().await;
    assert!(metrics.contains("challenge_grants_total{outcome=\"granted\"} 1"), "{metrics}");
    assert!(!metrics.contains("the-reward-token"));
}

/// Two deployments may share a reward service and have players of the same ids.
#[tokio::test]
async fn the_same_claim_in_two_namespaces_has_two_keys() {
    let rewards = RewardServer::start(&[]).await;
    for namespace in ["one", "two"] {
        let own = rewards.settings();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let settings: Vec<_> = own.chain([("AB_NAMESPACE", namespace)]).collect();
        let server = Server::start_with(&settings).await;
        let mut publisher = server.publisher().await;
        let login = challenge::proto::account::UserLoggedIn {
            user_id: "ann".to_owned(),
            namespace: namespace.to_owned(),
            ..Default::default()
        };
        publisher.login.on_message(login).await.unwrap();
        assert_eq!(server.player("ann").claim(LOGIN_GOAL).await.0, StatusCode::OK);
    }
    assert_eq!((keys(&rewards).len(), rewards.granted().len()), (2, 2));
}

/// Each row: the reactions of the service, the number of attempts, and the player's status.
#[tokio::test]
async fn temporary_failures_are_retried_with_the_same_key_and_refusals_are_not() {
    for (reactions, attempts, expected) in [
        (
            vec![
                RewardReaction::Refuse(500, None),
                RewardReaction::Refuse(429, None),
                RewardReaction::Refuse(408, None),
            ],
            4,
            StatusCode::OK,
        ),
        (vec![RewardReaction::Refuse(503, Some(0)), RewardReaction::ResetUngranted], 3, StatusCode::OK),
        (vec![RewardReaction::ResetGranted], 2, StatusCode::OK),
        (vec![RewardReaction::HoldGranted], 2, StatusCode::OK),
        (
            vec![RewardReaction::HoldUngranted, RewardReaction::HoldGranted, RewardReaction::ResetGranted],
            4,
            StatusCode::OK,
        ),
        (vec![RewardReaction::Refuse(500, None); 4], 4, StatusCode::BAD_GATEWAY),
        (vec![RewardReaction::Refuse(403, None)], 1, StatusCode::BAD_GATEWAY),
        (vec![RewardReaction::Refuse(302, None)], 1, StatusCode::BAD_GATEWAY),
    ] {
        let rewards = RewardServer::start(&reactions).await;
        let (server, ann) = server(&rewards, &[]).await;
        let (status, body) = ann.claim(LOGIN_GOAL).await;
        assert_eq!((status, rewards.attempts()), (expected, attempts), "{reactions:?}: {body}");
        assert_eq!(keys(&rewards).len(), 1, "{reactions:?}: one key for every attempt");
        let is_granted = expected == StatusCode::OK;
        assert_eq!(rewards.granted().len(), usize::from(is_granted), "{reactions:?}");
        assert_eq!(server.count(OPEN), i64::from(!is_granted), "{reactions:?}");
        if !is_granted {
            assert_eq!(body["errorCode"], "REWARD_GRANT_FAILED");
            assert_eq!(
                ann.claim(LOGIN_GOAL).await.0,
                StatusCode::OK,
                "{reactions:?}: the next claim succeeds"
            );
        }
        assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT, "{reactions:?}");
        assert_eq!((keys(&rewards).len(), rewards.granted().len()), (1, 1), "{reactions:?}");
    }
}

/// For a key that was granted before, some services answer 409, others repeat their first answer.
#[tokio::test]
async fn a_key_that_was_granted_before_counts_as_granted() {
    let rewards = RewardServer::start(&[RewardReaction::ResetGranted]).await;
    rewards.set_repeated_status(409);
    let (_server, ann) = server(&rewards, &[]).await;
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::OK);
    assert_eq!((rewards.attempts(), rewards.granted().len()), (2, 1));
}

#[tokio::test]
async fn retry_after_is_respected_up_to_two_seconds() {
    let rewards =
        RewardServer::start(&[RewardReaction::Refuse(429, Some(1)), RewardReaction::Refuse(503, Some(3600))])
            .await;
    let (_server, ann) = server(&rewards, &[]).await;
    let begun = Instant::now();
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::OK);
    assert!(begun.elapsed() >= Duration::from_secs(3), "one second as requested, and two instead of an hour");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_simultaneous_claims_grant_once() {
    // The first attempt is granted and its answer lost; meanwhile all other claims arrive.
    let rewards = RewardServer::start(&[RewardReaction::HoldGranted]).await;
    let (server, ann) = server(&rewards, &[("HTTP_MAX_IN_FLIGHT", "2000")]).await;
    let calls: Vec<_> = (0..1000)
        .map(|_| ann.clone())
        .map(|ann| tokio::spawn(async move { ann.claim(LOGIN_GOAL).await }))
        .collect();
    let mut granted = 0;
    for call in calls {
        let (status, body) = call.await.unwrap();
        match status {
            StatusCode::OK => granted += 1,
            _ => assert_eq!((status, &body["errorCode"]), (StatusCode::CONFLICT, &json!("ALREADY_CLAIMED"))),
        }
    }
    assert_eq!((granted, rewards.granted().len(), keys(&rewards).len()), (1, 1, 1));
    assert_eq!(rewards.attempts(), 2, "the attempt whose answer was lost, and its retry");
    assert_eq!(server.count(OPEN), 0);
}

/// The process is killed while the service holds its answer, before or after it granted: the next process ends the
/// claim.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_intent_and_end_grants_once() {
    for act in [RewardReaction::HoldGranted, RewardReaction::HoldUngranted] {
        let rewards = RewardServer::start(&[act]).await;
        let database = TestDatabase::new();
        let mut settings = rewards.settings();
        settings.push(("REWARD_TIMEOUT_MS", "30000".to_owned()));
        let process = started(&database, &settings);
        Publisher::connect(process.address("events")).await.log_in("ann", "1").await.unwrap();
        let ann = Player::new(process.address("http"), "ann");
        let claim = tokio::spawn(async move { ann.try_claim(LOGIN_GOAL).await });
        until("the grant is requested", async || rewards.attempts() == 1).await;
        process.kill();
        assert!(claim.await.unwrap().is_err(), "no answer");
        rewards.release();

        crate::database::age_claims(&database);
        let process = started(&database, &settings);
        let ann = Player::new(process.address("http"), "ann");
        assert_eq!(ann.goal(LOGIN_GOAL).await["status"], "claimed", "{act:?}");
        assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT, "{act:?}");
        let counts = (rewards.attempts(), keys(&rewards).len(), rewards.granted().len());
        assert_eq!(counts, (2, 1, 1), "{act:?}");
        process.kill();
    }
}

/// The players do not claim again; the rewards are granted once the service is available.
#[tokio::test]
async fn open_claims_are_granted_once_the_service_is_available_again() {
    // Connections are refused until the socket listens.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/v1/grants", socket.local_addr().unwrap());
    let settings = [
        ("REWARD_URL", url.as_str()),
        ("REWARD_TOKEN", "t"),
        ("REWARD_TIMEOUT_MS", "500"),
        ("REWARD_ATTEMPTS", "1"),
        ("CLAIM_RESUME_S", "1"),
    ];
    let server = Server::start_with(&settings).await;
    let mut publisher = server.publisher().await;
    let users = ["ann", "bob", "cyd"];
    for user in users {
        publisher.log_in(user, "1").await.unwrap();
        let (status, body) = server.player(user).claim(LOGIN_GOAL).await;
        assert_eq!((status, &body["errorCode"]), (StatusCode::BAD_GATEWAY, &json!("REWARD_GRANT_FAILED")));
    }
    assert_eq!(server.count(OPEN), 3);
    let rewards = RewardServer::start_on(
        socket.listen(64).unwrap(),
        &[RewardReaction::Refuse(500, None), RewardReaction::Refuse(403, None)],
    );
    until("all are granted", async || server.count(OPEN) == 0).await;
    assert_eq!((keys(&rewards).len(), rewards.granted().len()), (3, 3));
    for user in users {
        assert_eq!(server.player(user).goal(LOGIN_GOAL).await["status"], Value::from("claimed"));
    }
}

/// A claim in flight does not extend the drain beyond its limit, and is not lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_leaves_an_unanswered_claim_to_the_next_start() {
    let rewards = RewardServer::start(&[RewardReaction::HoldUngranted]).await;
    let database = TestDatabase::new();
    let mut settings = rewards.settings();
    settings.push(("REWARD_TIMEOUT_MS", "60000".to_owned()));
    settings.push(("DRAIN_TIMEOUT_S", "1".to_owned()));
    let process = started(&database, &settings);
    Publisher::connect(process.address("events")).await.log_in("ann", "1").await.unwrap();
    let ann = Player::new(process.address("http"), "ann");
    let claim = tokio::spawn(async move { ann.try_claim(LOGIN_GOAL).await });
    until("the grant is requested", async || rewards.attempts() == 1).await;
    let ended = tokio::task::spawn_blocking(move || process.terminate()).await.unwrap();
    assert!(ended.success(), "{ended}");
    assert!(claim.await.unwrap().is_err(), "no answer");
    crate::database::age_claims(&database);
    let process = started(&database, &settings);
    let ann = Player::new(process.address("http"), "ann");
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT, "the start has ended it");
    assert_eq!((rewards.attempts(), keys(&rewards).len(), rewards.granted().len()), (2, 1, 1));
    process.kill();
}

/// Over TLS, only to a server whose certificate a trusted authority signed for its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reward_service_behind_tls_must_have_a_trusted_certificate() {
    let rewards = RewardServer::start(&[]).await;
    let url = format!("https://localhost:{}/v1/grants", crate::tls::in_front_of(rewards.address).await);
    let address = url.replace("localhost", "127.0.0.1");
    for (url, expected) in [(address, StatusCode::BAD_GATEWAY), (url, StatusCode::OK)] {
        let database = TestDatabase::new();
        let mut settings = rewards.settings();
        settings.extend([("REWARD_URL", url), ("SSL_CERT_FILE", testkit::tls::authority())]);
        settings.push(("REWARD_TIMEOUT_MS", "10000".to_owned()));
        let process = started(&database, &settings);
        Publisher::connect(process.address("events")).await.log_in("ann", "1").await.unwrap();
        assert_eq!(Player::new(process.address("http"), "ann").claim(LOGIN_GOAL).await.0, expected);
        assert_eq!(
            rewards.attempts(),
            usize::from(expected == StatusCode::OK),
            "no token was sent to an untrusted server"
        );
        process.kill();
    }
}
