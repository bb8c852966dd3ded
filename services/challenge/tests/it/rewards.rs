//! Rewards granted by a service that is real to the last byte and fails as told: one grant, whatever happens.

use crate::home::Home;
use crate::process::Process;
use crate::reward_server::{Act, RewardServer};
use crate::support::{Player, Publisher, Server, until};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

const LOGIN_GOAL: &str = "goal-010-01";
const OPEN: &str = "SELECT count(*) FROM claims WHERE granted_at IS NULL";

/// A server whose rewards are granted there, and a player who has completed the login goal.
async fn server(rewards: &RewardServer, settings: &[(&str, &str)]) -> (Server, Player) {
    let ours = rewards.settings();
    let ours = ours.iter().map(|(name, value)| (*name, value.as_str()));
    let server = Server::start_with(&ours.chain(settings.iter().copied()).collect::<Vec<_>>()).await;
    server.publisher().await.log_in("ann", "1").await.unwrap();
    let ann = server.player("ann");
    (server, ann)
}

fn keys(rewards: &RewardServer) -> BTreeSet<String> {
    rewards.asked().iter().map(|asked| asked.headers["idempotency-key"].clone()).collect()
}

async fn metrics(server: &Server) -> String {
    let address = server.running.addresses.admin;
    let player = Player::new(address, "");
    player.text("/metrics").await
}

#[tokio::test]
async fn a_grant_is_asked_for_in_full() {
    let rewards = RewardServer::start(&[]).await;
    let (server, ann) = server(&rewards, &[]).await;
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::OK);
    let asked = rewards.asked();
    assert_eq!(asked.len(), 1);
    let asked = &asked[0];
    assert_eq!(asked.line, "POST /v1/grants HTTP/1.1");
    assert_eq!(asked.headers["authorization"], "Bearer the-reward-token");
    assert_eq!(asked.headers["content-type"], "application/json");
    let key = &asked.headers["idempotency-key"];
    assert_eq!(
        asked.body,
        json!({
            "userId": "ann", "namespace": "accelbyte", "rewardType": "WALLET", "rewardId": "GOLD",
            "quantity": 10, "idempotencyKey": key,
        })
    );
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger"), 0, "the ledger is not in use");
    let metrics = metrics(&server).await;
    assert!(metrics.contains("challenge_grants_total{outcome=\"granted\"} 1"), "{metrics}");
    assert!(!metrics.contains("the-reward-token"));
}

/// Each row: what the service does, how often it is asked for that, and what the player is told.
#[tokio::test]
async fn what_may_pass_is_asked_again_with_the_same_key_and_what_says_no_is_not() {
    for (acts, attempts, told) in [
        (vec![Act::Say(500, None), Act::Say(429, None), Act::Say(408, None)], 4, StatusCode::OK),
        (vec![Act::Say(503, Some(0)), Act::ResetUnheard], 3, StatusCode::OK),
        (vec![Act::ResetGranted], 2, StatusCode::OK),
        (vec![Act::HoldGranted], 2, StatusCode::OK),
        (vec![Act::HoldUnheard, Act::HoldGranted, Act::ResetGranted], 4, StatusCode::OK),
        (vec![Act::Say(500, None); 4], 4, StatusCode::BAD_GATEWAY),
        (vec![Act::Say(403, None)], 1, StatusCode::BAD_GATEWAY),
        (vec![Act::Say(302, None)], 1, StatusCode::BAD_GATEWAY),
    ] {
        let rewards = RewardServer::start(&acts).await;
        let (server, ann) = server(&rewards, &[]).await;
        let (status, body) = ann.claim(LOGIN_GOAL).await;
        assert_eq!((status, rewards.attempts()), (told, attempts), "{acts:?}: {body}");
        assert_eq!(keys(&rewards).len(), 1, "{acts:?}: one key for every attempt");
        let is_granted = told == StatusCode::OK;
        assert_eq!(rewards.granted().len(), usize::from(is_granted), "{acts:?}");
        assert_eq!(server.count(OPEN), i64::from(!is_granted), "{acts:?}");
        if !is_granted {
            assert_eq!(body["errorCode"], "REWARD_GRANT_FAILED");
            assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::OK, "{acts:?}: the next claim ends it");
        }
        assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT, "{acts:?}");
        assert_eq!((keys(&rewards).len(), rewards.granted().len()), (1, 1), "{acts:?}");
    }
}

/// Some services answer 409 where others repeat their first answer.
#[tokio::test]
async fn a_key_that_was_granted_before_counts_as_granted() {
    let rewards = RewardServer::start(&[Act::ResetGranted]).await;
    rewards.say_again(409);
    let (_server, ann) = server(&rewards, &[]).await;
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::OK);
    assert_eq!((rewards.attempts(), rewards.granted().len()), (2, 1));
}

#[tokio::test]
async fn a_service_that_asks_for_time_gets_it_within_bounds() {
    let rewards = RewardServer::start(&[Act::Say(429, Some(1)), Act::Say(503, Some(3600))]).await;
    let (_server, ann) = server(&rewards, &[]).await;
    let begun = Instant::now();
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::OK);
    assert!(begun.elapsed() >= Duration::from_secs(3), "one second asked for, two of an hour granted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_simultaneous_claims_grant_once() {
    // The first attempt is granted and its answer lost; meanwhile all others have come.
    let rewards = RewardServer::start(&[Act::HoldGranted]).await;
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
    assert_eq!(rewards.attempts(), 2, "the one whose answer was lost, and its repetition");
    assert_eq!(server.count(OPEN), 0);
}

/// The process is killed while the service holds its answer, having granted or not: the next one ends the claim.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_between_intent_and_end_grants_once() {
    for act in [Act::HoldGranted, Act::HoldUnheard] {
        let rewards = RewardServer::start(&[act]).await;
        let home = Home::new();
        let mut settings = rewards.settings();
        settings.push(("REWARD_TIMEOUT_MS", "30000".to_owned()));
        let process = Process::start_with(&home, &settings);
        Publisher::connect(process.addresses).await.log_in("ann", "1").await.unwrap();
        let ann = Player::new(process.addresses.http.unwrap(), "ann");
        let claim = tokio::spawn(async move { ann.try_claim(LOGIN_GOAL).await });
        until("the grant is asked for", async || rewards.attempts() == 1).await;
        process.kill();
        assert!(claim.await.unwrap().is_err(), "no answer");
        rewards.release();

        home.age_claims();
        let process = Process::start_with(&home, &settings);
        let ann = Player::new(process.addresses.http.unwrap(), "ann");
        assert_eq!(ann.goal(LOGIN_GOAL).await["status"], "claimed", "{act:?}");
        assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT, "{act:?}");
        let counts = (rewards.attempts(), keys(&rewards).len(), rewards.granted().len());
        assert_eq!(counts, (2, 1, 1), "{act:?}");
        process.kill();
    }
}

/// Nobody claims again; the reward is granted all the same once the service is back.
#[tokio::test]
async fn a_service_that_is_down_for_a_while_costs_nobody_a_reward() {
    // As long as nobody listens on it, it refuses.
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
    let rewards =
        RewardServer::start_on(socket.listen(64).unwrap(), &[Act::Say(500, None), Act::Say(403, None)]);
    until("all are granted", async || server.count(OPEN) == 0).await;
    assert_eq!((keys(&rewards).len(), rewards.granted().len()), (3, 3));
    for user in users {
        assert_eq!(server.player(user).goal(LOGIN_GOAL).await["status"], Value::from("claimed"));
    }
}

/// A claim on its way does not outlast the drain's bound, and is not lost over that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_leaves_an_unanswered_claim_to_the_next_start() {
    let rewards = RewardServer::start(&[Act::HoldUnheard]).await;
    let home = Home::new();
    let mut settings = rewards.settings();
    settings.push(("REWARD_TIMEOUT_MS", "60000".to_owned()));
    settings.push(("DRAIN_TIMEOUT_S", "1".to_owned()));
    let process = Process::start_with(&home, &settings);
    Publisher::connect(process.addresses).await.log_in("ann", "1").await.unwrap();
    let ann = Player::new(process.addresses.http.unwrap(), "ann");
    let claim = tokio::spawn(async move { ann.try_claim(LOGIN_GOAL).await });
    until("the grant is asked for", async || rewards.attempts() == 1).await;
    let ended = tokio::task::spawn_blocking(move || process.terminate()).await.unwrap();
    assert!(ended.success(), "{ended}");
    assert!(claim.await.unwrap().is_err(), "no answer");
    home.age_claims();
    let process = Process::start_with(&home, &settings);
    let ann = Player::new(process.addresses.http.unwrap(), "ann");
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT, "it has been ended");
    assert_eq!((rewards.attempts(), keys(&rewards).len(), rewards.granted().len()), (2, 1, 1));
    process.kill();
}

/// Over TLS, to whoever an authority of this system vouches for, and to nobody else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reward_service_behind_tls_must_be_vouched_for() {
    let rewards = RewardServer::start(&[]).await;
    let url = format!("https://localhost:{}/v1/grants", crate::tls::in_front_of(rewards.address).await);
    let address = url.replace("localhost", "127.0.0.1");
    for (url, told) in [(address, StatusCode::BAD_GATEWAY), (url, StatusCode::OK)] {
        let home = Home::new();
        let mut settings = rewards.settings();
        settings.extend([("REWARD_URL", url), ("SSL_CERT_FILE", crate::tls::authority())]);
        settings.push(("REWARD_TIMEOUT_MS", "10000".to_owned()));
        let process = Process::start_with(&home, &settings);
        Publisher::connect(process.addresses).await.log_in("ann", "1").await.unwrap();
        assert_eq!(Player::new(process.addresses.http.unwrap(), "ann").claim(LOGIN_GOAL).await.0, told);
        assert_eq!(rewards.attempts(), usize::from(told == StatusCode::OK), "no secret went to a stranger");
        process.kill();
    }
}
