//! The real binary under load, ended at a moment nobody chose: what was acknowledged is there, and once.
//!
//! `CHALLENGE_KILL_ROUNDS` sets how many rounds are run (3 when unset).

use crate::home::Home;
use crate::process::Process;
use crate::support::{Player, Publisher};
use hyper::StatusCode;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;

const LOGIN_GOAL: &str = "goal-010-01";
const KILLS_GOAL: &str = "goal-001-01";
const USERS: usize = 8;
const CLAIMERS: usize = 60;

fn rounds() -> usize {
    std::env::var("CHALLENGE_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// What one user's publisher was told: ids acknowledged, and the one whose answer never came.
#[derive(Debug, Default)]
struct Told {
    user: String,
    acknowledged: Vec<String>,
    in_doubt: Option<String>,
}

/// What one claimer was told.
#[derive(Debug)]
struct Claimed {
    user: String,
    is_acknowledged: bool,
}

async fn log_in_until_cut(mut publisher: Publisher, user: String, total: Arc<AtomicUsize>) -> Told {
    let mut told = Told { user: user.clone(), ..Told::default() };
    for number in 0.. {
        let id = format!("{user}-{number}");
        match publisher.log_in(&user, &id).await {
            Ok(()) => told.acknowledged.push(id),
            Err(_cut) => {
                told.in_doubt = Some(id);
                break;
            }
        }
        total.fetch_add(1, Ordering::Relaxed);
    }
    told
}

async fn claim_once(mut publisher: Publisher, player: Player, user: String) -> Claimed {
    let lost = Claimed { user: user.clone(), is_acknowledged: false };
    if publisher.tell(&user, "enemy_kills", 10.0).await.is_err() {
        return lost;
    }
    let path = "/challenge/v1/challenges/challenge-001/goals/goal-001-01/claim";
    let request = hyper::Request::post(path).header("host", "test").header("x-mock-user-id", &user);
    let answer = player.exchange(request.body(axum::body::Body::empty()).unwrap()).await;
    Claimed { is_acknowledged: answer.is_ok_and(|(status, _)| status == StatusCode::OK), ..lost }
}

/// Offers load until `enough` logins were acknowledged, ends the process by `end`, and returns what was told.
async fn load(
    process: Process,
    (round, enough): (usize, usize),
    end: fn(Process),
) -> (Vec<Told>, Vec<Claimed>) {
    let publisher = Publisher::connect(process.addresses).await;
    let total = Arc::new(AtomicUsize::new(0));
    let mut logins = JoinSet::new();
    for user in 0..USERS {
        let user = format!("login-{round}-{user}");
        logins.spawn(log_in_until_cut(publisher.clone(), user, Arc::clone(&total)));
    }
    let mut claims = JoinSet::new();
    for user in 0..CLAIMERS {
        let user = format!("claim-{round}-{user}");
        claims.spawn(claim_once(
            publisher.clone(),
            Player::new(process.addresses.http.unwrap(), &user),
            user,
        ));
    }
    while total.load(Ordering::Relaxed) < enough {
        tokio::task::yield_now().await;
    }
    tokio::task::spawn_blocking(move || end(process)).await.unwrap();
    (logins.join_all().await, claims.join_all().await)
}

/// Delivers again what is in doubt and a part of what is not, then compares with what the service holds.
async fn check_logins(process: &Process, told: &[Told]) {
    let mut publisher = Publisher::connect(process.addresses).await;
    for told in told {
        let again = told.acknowledged.iter().rev().take(20).chain(&told.in_doubt);
        for id in again {
            publisher.log_in(&told.user, id).await.unwrap();
        }
        let expected = told.acknowledged.len() + usize::from(told.in_doubt.is_some());
        let goal = Player::new(process.addresses.http.unwrap(), &told.user).goal(LOGIN_GOAL).await;
        assert_eq!(goal["progress"], expected, "{}: each event counts once", told.user);
    }
}

async fn check_claims(process: &Process, claimed: &[Claimed], home: &Home) {
    let mut publisher = Publisher::connect(process.addresses).await;
    for claimed in claimed {
        publisher.tell(&claimed.user, "enemy_kills", 10.0).await.unwrap();
        let (status, answer) =
            Player::new(process.addresses.http.unwrap(), &claimed.user).claim(KILLS_GOAL).await;
        let is_fit = status == StatusCode::CONFLICT || (status == StatusCode::OK && !claimed.is_acknowledged);
        assert!(is_fit, "{claimed:?}: {status} {answer}");
        let grants = format!("SELECT count(*) FROM reward_ledger WHERE user_id = '{}'", claimed.user);
        assert_eq!(home.count(&grants), 1, "{claimed:?}");
    }
    assert_eq!(home.count("SELECT count(*) FROM claims WHERE granted_at IS NULL"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_nothing_and_doubles_nothing() {
    let home = Home::new();
    let mut acknowledged = BTreeMap::new();
    for round in 0..rounds() {
        // Rounds end at different moments: early with claims on their way, or later.
        let enough = 40 + (round * 7919) % 600;
        let (told, claimed) = load(Process::start(&home), (round, enough), Process::kill).await;
        let process = Process::start(&home);
        check_logins(&process, &told).await;
        check_claims(&process, &claimed, &home).await;
        process.kill();
        let logins: usize = told.iter().map(|told| told.acknowledged.len()).sum();
        acknowledged.insert(round, (logins, claimed.iter().filter(|c| c.is_acknowledged).count()));
    }
    assert!(acknowledged.values().all(|(logins, _)| *logins >= 40), "{acknowledged:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_under_load_drains_and_exits_0() {
    let home = Home::new();
    let end = |process: Process| assert!(process.terminate().success());
    let (told, claimed) = load(Process::start(&home), (0, 200), end).await;
    let process = Process::start(&home);
    check_logins(&process, &told).await;
    check_claims(&process, &claimed, &home).await;
}
