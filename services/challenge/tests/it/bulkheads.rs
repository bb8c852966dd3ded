//! What is slow stays apart: slow rewards hold up claims alone, and one player cannot take every slot.

use std::time::Duration;

use challenge::proto::service::{ClaimRewardRequest, InitializeRequest, SetGoalActiveRequest};
use hyper::StatusCode;
use serde_json::json;
use testkit::until;
use tokio::task::JoinSet;

use crate::reward_server::{RewardReaction, RewardServer};
use crate::support::Server;

const LOGIN_GOAL: &str = "goal-010-01";
const LIST: &str = "/challenge/v1/challenges";

/// A server whose reward service answers nothing for a minute.
async fn with_slow_rewards(rewards: &RewardServer, more: &[(&str, &str)]) -> Server {
    let own = rewards.settings();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let slow = [("REWARD_TIMEOUT_MS", "60000"), ("DRAIN_TIMEOUT_S", "1")];
    Server::start_with(&own.chain(slow).chain(more.iter().copied()).collect::<Vec<_>>()).await
}

/// Callers that time out and ask again: what they began keeps its place, and further claims are refused at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_rewards_take_the_places_of_claims_and_no_others() {
    let rewards = RewardServer::start(&[RewardReaction::HoldUngranted; 100]).await;
    let limits = [("HTTP_MAX_IN_FLIGHT", "6"), ("CLAIM_MAX_IN_FLIGHT", "4")];
    let server = with_slow_rewards(&rewards, &limits).await;
    let mut publisher = server.publisher().await;
    let mut callers = JoinSet::new();
    for number in 0..4 {
        let user = format!("user-{number}");
        publisher.log_in(&user, "1").await.unwrap();
        let player = server.player(&user);
        callers.spawn(async move { player.try_claim(LOGIN_GOAL).await });
        until("the reward is requested", async || rewards.attempts() == number + 1).await;
    }
    publisher.log_in("late", "1").await.unwrap();
    let late = server.player("late");
    let check = async || {
        let (status, refused) = late.claim(LOGIN_GOAL).await;
        assert_eq!((status, &refused["errorCode"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("OVERLOADED")));
        assert_eq!(late.get(LIST).await.0, StatusCode::OK);
        assert_eq!(late.set_active("goal-001-02", r#"{"isActive":true}"#).await.0, StatusCode::OK);
    };
    check().await;
    callers.shutdown().await;
    until("their connections are closed", async || server.metrics().await.contains("challenge_in_flight 0"))
        .await;
    check().await;
    assert_eq!(rewards.attempts(), 4, "nothing was begun for a claim that was refused");
}

/// One player asks for one goal many times: only one of these requests has the place of a claim, so another player's claim
/// is begun. As many as there are places may wait for the same goal, and no more: they take those of other requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_for_one_goal_take_one_place_of_claims() {
    let rewards = RewardServer::start(&[RewardReaction::HoldUngranted; 100]).await;
    let server = with_slow_rewards(&rewards, &[("CLAIM_MAX_IN_FLIGHT", "2")]).await;
    let mut publisher = server.publisher().await;
    let mut callers = JoinSet::new();
    for (user, requests) in [("ann", 3), ("bob", 1)] {
        publisher.log_in(user, "1").await.unwrap();
        for _ in 0..requests {
            let player = server.player(user);
            callers.spawn(async move { player.try_claim(LOGIN_GOAL).await });
        }
        let line = format!("challenge_in_flight {}\n", if user == "ann" { 3 } else { 4 });
        until("the requests wait", async || server.metrics().await.contains(&line)).await;
    }
    until("both rewards are requested", async || rewards.attempts() == 2).await;
    assert!(server.metrics().await.contains("challenge_claims_in_flight 2\n"));
    let (status, refused) = server.player("ann").claim(LOGIN_GOAL).await;
    assert_eq!((status, &refused["errorCode"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("OVERLOADED")));
}

/// A player claims and leaves, over and over: what they began counts as theirs until it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_whose_player_has_left_keep_the_places_of_that_player() {
    let rewards = RewardServer::start(&[RewardReaction::HoldUngranted; 100]).await;
    let server = with_slow_rewards(&rewards, &[("USER_MAX_IN_FLIGHT", "2")]).await;
    let mut publisher = server.publisher().await;
    publisher.log_in("ann", "1").await.unwrap();
    publisher.update_statistic("ann", "damage_dealt", 10.0).await.unwrap();
    let ann = server.player("ann");
    let leaving = tokio::spawn({
        let ann = ann.clone();
        async move { ann.try_claim(LOGIN_GOAL).await }
    });
    until("the reward is requested", async || rewards.attempts() == 1).await;
    leaving.abort();
    let grpc = server.caller("ann").await;
    let mut call = grpc.call(ClaimRewardRequest {
        challenge_id: "challenge-004".to_owned(),
        goal_id: "goal-004-01".to_owned(),
    });
    call.set_timeout(Duration::from_millis(500));
    grpc.client.clone().claim_goal_reward(call).await.unwrap_err();
    until("both are carried out without her", async || {
        let metrics = server.metrics().await;
        metrics.contains("challenge_in_flight 0\n") && metrics.contains("challenge_claims_in_flight 2\n")
    })
    .await;
    let (status, refused) = ann.get(LIST).await;
    assert_eq!((status, &refused["errorCode"]), (StatusCode::TOO_MANY_REQUESTS, &json!("TOO_MANY_REQUESTS")));
    assert_eq!(server.player("bob").get(LIST).await.0, StatusCode::OK);
}

/// One player's requests wait for a slow reward; past the player's limit they are refused, and other players are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_player_with_many_connections_is_refused_and_the_others_are_served() {
    let rewards = RewardServer::start(&[RewardReaction::HoldUngranted; 100]).await;
    let limits = [("HTTP_MAX_IN_FLIGHT", "20"), ("USER_MAX_IN_FLIGHT", "4")];
    let server = with_slow_rewards(&rewards, &limits).await;
    server.publisher().await.log_in("ann", "1").await.unwrap();
    let ann = server.player("ann");
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        let ann = ann.clone();
        callers.spawn(async move { ann.try_claim(LOGIN_GOAL).await });
    }
    until("her requests wait", async || server.metrics().await.contains("challenge_in_flight 4")).await;
    let (status, refused) = ann.get(LIST).await;
    assert_eq!(
        (status, &refused["errorCode"], &refused["code"]),
        (StatusCode::TOO_MANY_REQUESTS, &json!("TOO_MANY_REQUESTS"), &json!(8))
    );
    let grpc = server.caller("ann").await;
    let call = grpc.call(InitializeRequest {});
    let refused = grpc.client.clone().initialize_player(call).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    assert_eq!(server.player("bob").get(LIST).await.0, StatusCode::OK);
    callers.shutdown().await;
    until("she is served again", async || ann.get(LIST).await.0 == StatusCode::OK).await;
}

/// Another program holds the database's lock. Callers leave, or their deadline passes: what they asked for is not begun
/// any more, and until that is known it keeps its place in the queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_whose_callers_have_left_keep_their_places_and_are_not_begun() {
    let server = Server::start_with(&[("STORE_QUEUE", "3")]).await;
    let other = rusqlite::Connection::open(server.database.file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let depth_is = async |depth: usize| {
        let line = format!("challenge_store_queue_depth {depth}\n");
        until(&line, async || server.metrics().await.contains(&line)).await;
    };
    let mut callers = JoinSet::new();
    for number in 0..2 {
        let player = server.player(&format!("user-{number}"));
        callers.spawn(async move { player.set_active("goal-001-02", r#"{"isActive":true}"#).await });
        depth_is(number + 1).await;
    }
    let grpc = server.caller("user-2").await;
    let mut call = grpc.call(SetGoalActiveRequest {
        challenge_id: "challenge-001".to_owned(),
        goal_id: "goal-001-02".to_owned(),
        is_active: true,
    });
    call.set_timeout(Duration::from_millis(200));
    grpc.client.clone().set_goal_active(call).await.unwrap_err();
    callers.shutdown().await;
    depth_is(3).await;
    let (status, refused) = server.player("late").set_active("goal-001-02", "{}").await;
    assert_eq!((status, &refused["errorCode"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("OVERLOADED")));
    assert_eq!(server.player("late").get(LIST).await.0, StatusCode::OK, "reads go on");
    other.execute_batch("ROLLBACK").unwrap();
    depth_is(0).await;
    let abandoned = "challenge_store_commands_abandoned_total 2\n";
    until(abandoned, async || server.metrics().await.contains(abandoned)).await;
    let others = "SELECT count(*) FROM user_goal_progress WHERE user_id <> 'user-0'";
    assert_eq!(server.count(others), 0);
    assert_eq!(server.player("late").set_active("goal-001-02", "{}").await.0, StatusCode::OK);
}
