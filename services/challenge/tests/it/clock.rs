//! The time of day is set back, or forward, while the service runs: timestamps and tokens follow it, nothing else does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use hyper::{Method, StatusCode};
use peers::faketime::Clock;
use testkit::data::TestDatabase;
use testkit::issuer::{KeyServer, Signer, claims};
use testkit::process::Process;
use testkit::time::{HOUR_S, hours_ahead};
use testkit::until;

use crate::process::serving;
use crate::reward_server::{RewardReaction, RewardServer};
use crate::support::{Player, Publisher};

const LOGIN_GOAL: &str = "goal-010-01";
const KILLS_GOAL: &str = "goal-001-01";
const DAY_S: i64 = 24 * HOUR_S;

fn start(database: &TestDatabase, clock: &Clock, settings: &[(&str, &str)]) -> Process {
    let mut command = serving(database);
    command.envs(clock.env()).envs(settings.iter().copied());
    Process::start(&mut command)
}

/// Reads until the end: progress never decreases.
async fn watch(ann: Player, reads: Arc<AtomicI64>, is_over: Arc<AtomicBool>) {
    let mut most = 0;
    while !is_over.load(Ordering::Relaxed) {
        let seen = ann.goal(LOGIN_GOAL).await["progress"].as_i64().unwrap();
        assert!(seen >= most, "{seen} after {most}");
        most = seen;
        reads.fetch_add(1, Ordering::Relaxed);
    }
}

/// Every event is delivered again at each new time of day: it counts once, and a reward is granted once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_loses_no_event_and_counts_none_twice() {
    let (clock, database) = (Clock::start().unwrap(), TestDatabase::new());
    let process = start(&database, &clock, &[]);
    let mut publisher = Publisher::connect(process.address("events")).await;
    let player = |user: &str| Player::new(process.address("http"), user);
    let ann = player("ann");
    ann.initialize().await;
    let (reads, is_over) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicBool::new(false)));
    let watching = tokio::spawn(watch(ann.clone(), Arc::clone(&reads), Arc::clone(&is_over)));
    let offsets_s = [0, -HOUR_S, HOUR_S, DAY_S, -DAY_S, 0];
    for (round, ahead_s) in (1_i64..).zip(offsets_s) {
        clock.set(ahead_s).unwrap();
        for id in 0..5 * round {
            publisher.log_in("ann", &id.to_string()).await.unwrap();
        }
        publisher.update_statistic("ann", "enemy_kills", (round + 10) as f64).await.unwrap();
        assert_eq!(ann.goal(LOGIN_GOAL).await["progress"], 5 * round);
        assert_eq!(ann.goal(KILLS_GOAL).await["progress"], round + 10);
        let claimer = player(&format!("claimer-{round}"));
        publisher.log_in(&format!("claimer-{round}"), "1").await.unwrap();
        assert_eq!(claimer.claim(LOGIN_GOAL).await.0, StatusCode::OK);
        assert_eq!(claimer.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT);
        let goal = claimer.goal(LOGIN_GOAL).await;
        assert_eq!(hours_ahead(goal["completedAt"].as_str().unwrap()), ahead_s / HOUR_S, "the clock was set");
        assert_eq!(hours_ahead(goal["claimedAt"].as_str().unwrap()), ahead_s / HOUR_S);
        let before = reads.load(Ordering::Relaxed);
        until("the progress is read meanwhile", async || {
            assert!(!watching.is_finished());
            reads.load(Ordering::Relaxed) > before
        })
        .await;
    }
    is_over.store(true, Ordering::Relaxed);
    watching.await.unwrap();
    assert!(process.terminate().success());
    assert_eq!(database.count("SELECT count(*) FROM reward_ledger"), offsets_s.len() as i64);
}

/// As the first, with a restart in between; and the drain works at any time of day.
#[tokio::test]
async fn events_count_once_across_starts_at_other_times_of_day() {
    let (clock, database) = (Clock::start().unwrap(), TestDatabase::new());
    for (round, ahead_s) in [0, HOUR_S, 0, -HOUR_S, 0].into_iter().enumerate() {
        clock.set(ahead_s).unwrap();
        let process = start(&database, &clock, &[]);
        let mut publisher = Publisher::connect(process.address("events")).await;
        for id in 0..=round {
            publisher.log_in("ann", &id.to_string()).await.unwrap();
        }
        let ann = Player::new(process.address("http"), "ann");
        assert_eq!(ann.goal(LOGIN_GOAL).await["progress"], round + 1);
        clock.set(-ahead_s).unwrap();
        drop(publisher);
        assert!(process.terminate().success());
    }
}

/// The player does not claim again, and the clock is set back to before the claim: the reward is granted anyway.
#[tokio::test]
async fn a_claim_left_open_at_a_later_time_of_day_is_resumed() {
    let (clock, database) = (Clock::start().unwrap(), TestDatabase::new());
    let rewards = RewardServer::start(&[RewardReaction::HoldUngranted]).await;
    let url = rewards.settings().remove(0).1;
    let settings = [
        ("REWARD_URL", url.as_str()),
        ("REWARD_TOKEN", "t"),
        ("REWARD_TIMEOUT_MS", "500"),
        ("REWARD_ATTEMPTS", "1"),
        ("CLAIM_RESUME_S", "1"),
    ];
    clock.set(HOUR_S).unwrap();
    let process = start(&database, &clock, &settings);
    Publisher::connect(process.address("events")).await.log_in("ann", "1").await.unwrap();
    let ann = Player::new(process.address("http"), "ann");
    assert_eq!(ann.claim(LOGIN_GOAL).await.0, StatusCode::BAD_GATEWAY, "given up after its time");
    clock.set(0).unwrap();
    until("the reward is granted", async || ann.goal(LOGIN_GOAL).await["status"] == "claimed").await;
    assert_eq!((rewards.requests().len(), rewards.granted().len()), (2, 1));
    assert!(process.terminate().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_valid_by_the_time_of_day() {
    let (clock, database) = (Clock::start().unwrap(), TestDatabase::new());
    let signer = Signer::ec("k1");
    let keys = KeyServer::start(&[&signer]).await;
    let process = start(&database, &clock, &keys.settings());
    // Both are valid for an hour from now on; the second is first used when the clock is before their beginning.
    let (first, second) = (signer.token(&claims("ann")), signer.token(&claims("ann")));
    let mut answers = Vec::new();
    let uses = [(0, &first), (HOUR_S + 60, &first), (0, &first), (-HOUR_S, &second), (0, &second)];
    for (ahead_s, token) in uses {
        clock.set(ahead_s).unwrap();
        let headers = [("authorization", &*format!("Bearer {token}"))];
        answers.push(process.client().request(Method::GET, "/challenge/v1/challenges", &headers, "").await.0);
    }
    let (valid, invalid) = (StatusCode::OK, StatusCode::UNAUTHORIZED);
    assert_eq!(answers, [valid, invalid, valid, invalid, valid]);
    assert!(process.terminate().success());
}
