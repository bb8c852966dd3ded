//! The real binary under load, ended at a moment nobody chose: what was acknowledged is there, and once.
//!
//! `CHALLENGE_KILL_ROUNDS` sets how many rounds are run (3 when unset).

use crate::STORE;
use crate::home::Home;
use crate::home::Kind;
use crate::process::Process;
use crate::support::{Player, Publisher};
use challenge::server::Addresses;
use hyper::StatusCode;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// What the tasks of a load share.
#[derive(Default)]
struct Load {
    acknowledged: AtomicUsize,
    is_over: AtomicBool,
}

async fn log_in_until_cut(mut publisher: Publisher, user: String, load: Arc<Load>) -> Told {
    let mut told = Told { user: user.clone(), ..Told::default() };
    for number in 0.. {
        if load.is_over.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("{user}-{number}");
        match publisher.log_in(&user, &id).await {
            Ok(()) => told.acknowledged.push(id),
            Err(_cut) => {
                told.in_doubt = Some(id);
                break;
            }
        }
        load.acknowledged.fetch_add(1, Ordering::Relaxed);
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

/// The processes of a service by their roles: one, or with PostgreSQL players and publishers apart.
struct Deployment {
    parts: Vec<(&'static str, Process)>,
}

impl Deployment {
    fn roles() -> &'static [&'static str] {
        match STORE {
            Kind::Sqlite => &["all"],
            Kind::Postgres => &["api", "events"],
        }
    }

    fn start(home: &Home) -> Self {
        Self { parts: Self::roles().iter().map(|role| (*role, Process::start_as(home, role))).collect() }
    }

    fn addresses(&self) -> Addresses {
        let all = || self.parts.iter().map(|(_, process)| process.addresses);
        Addresses {
            http: all().find_map(|addresses| addresses.http),
            grpc: all().find_map(|addresses| addresses.grpc),
            events: all().find_map(|addresses| addresses.events),
            admin: self.parts[0].1.addresses.admin,
        }
    }

    /// Ends one part, or in every third round all of them, and leaves the rest.
    fn kill(mut self, round: usize) -> Self {
        let victims = match round % 3 {
            2 => self.parts.drain(..).collect::<Vec<_>>(),
            part => vec![self.parts.remove((part + 1) % self.parts.len())],
        };
        victims.into_iter().for_each(|(_, process)| process.kill());
        self
    }

    /// Starts what is missing.
    fn complete(mut self, home: &Home) -> Self {
        for role in Self::roles() {
            if self.parts.iter().all(|(there, _)| there != role) {
                self.parts.push((role, Process::start_as(home, role)));
            }
        }
        self
    }

    fn player(&self, user: &str) -> Player {
        Player::new(self.addresses().http.unwrap(), user)
    }
}

/// Offers load until `enough` logins were acknowledged, ends what `end` ends, and returns what was told.
async fn load(
    deployment: Deployment,
    (round, enough): (usize, usize),
    end: impl FnOnce(Deployment) -> Deployment + Send + 'static,
) -> (Deployment, Vec<Told>, Vec<Claimed>) {
    let publisher = Publisher::connect(deployment.addresses()).await;
    let load = Arc::new(Load::default());
    let mut logins = JoinSet::new();
    for user in 0..USERS {
        logins.spawn(log_in_until_cut(publisher.clone(), format!("login-{round}-{user}"), Arc::clone(&load)));
    }
    let mut claims = JoinSet::new();
    for user in 0..CLAIMERS {
        let user = format!("claim-{round}-{user}");
        claims.spawn(claim_once(publisher.clone(), deployment.player(&user), user));
    }
    while load.acknowledged.load(Ordering::Relaxed) < enough {
        tokio::task::yield_now().await;
    }
    let rest = tokio::task::spawn_blocking(move || end(deployment)).await.unwrap();
    load.is_over.store(true, Ordering::Relaxed);
    (rest, logins.join_all().await, claims.join_all().await)
}

/// Delivers again what is in doubt and a part of what is not, then compares with what the service holds.
async fn check_logins(deployment: &Deployment, told: &[Told]) {
    let mut publisher = Publisher::connect(deployment.addresses()).await;
    for told in told {
        let again = told.acknowledged.iter().rev().take(20).chain(&told.in_doubt);
        for id in again {
            publisher.log_in(&told.user, id).await.unwrap();
        }
        let expected = told.acknowledged.len() + usize::from(told.in_doubt.is_some());
        let goal = deployment.player(&told.user).goal(LOGIN_GOAL).await;
        assert_eq!(goal["progress"], expected, "{}: each event counts once", told.user);
    }
}

async fn check_claims(deployment: &Deployment, (round, claimed): (usize, &[Claimed]), home: &Home) {
    let mut publisher = Publisher::connect(deployment.addresses()).await;
    for claimed in claimed {
        publisher.tell(&claimed.user, "enemy_kills", 10.0).await.unwrap();
        let (status, answer) = deployment.player(&claimed.user).claim(KILLS_GOAL).await;
        let is_fit = status == StatusCode::CONFLICT || (status == StatusCode::OK && !claimed.is_acknowledged);
        assert!(is_fit, "{claimed:?}: {status} {answer}");
    }
    let of_round = format!("FROM reward_ledger WHERE user_id LIKE 'claim-{round}-%'");
    assert_eq!(home.count(&format!("SELECT count(DISTINCT user_id) {of_round}")), CLAIMERS as i64);
    assert_eq!(home.count(&format!("SELECT count(*) {of_round}")), CLAIMERS as i64, "nobody's twice");
    assert_eq!(home.count("SELECT count(*) FROM claims WHERE granted_at IS NULL"), 0);
}

#[allow(clippy::print_stdout, reason = "a soak's figures are looked at")]
fn tell(acknowledged: &BTreeMap<usize, (usize, usize)>) {
    println!("{STORE:?}: logins and claims (of {CLAIMERS}) acknowledged before the kill: {acknowledged:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_nothing_and_doubles_nothing() {
    let home = Home::new();
    let mut deployment = Deployment::start(&home);
    let mut acknowledged = BTreeMap::new();
    for round in 0..rounds() {
        // Rounds end at different moments: early with claims on their way, or later.
        let enough = if round % 2 == 0 { 1 + round % 12 } else { 40 + (round * 7919) % 600 };
        let kill = move |deployment: Deployment| deployment.kill(round);
        let (rest, told, claimed) = load(deployment, (round, enough), kill).await;
        deployment = rest.complete(&home);
        check_logins(&deployment, &told).await;
        check_claims(&deployment, (round, &claimed), &home).await;
        let logins: usize = told.iter().map(|told| told.acknowledged.len()).sum();
        acknowledged.insert(round, (logins, claimed.iter().filter(|c| c.is_acknowledged).count()));
    }
    tell(&acknowledged);
    assert!(acknowledged.values().all(|(logins, _)| *logins >= 1), "{acknowledged:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_under_load_drains_and_exits_0() {
    let home = Home::new();
    let end = |deployment: Deployment| {
        for (role, process) in deployment.parts {
            assert!(process.terminate().success(), "{role}");
        }
        Deployment { parts: Vec::new() }
    };
    let (rest, told, claimed) = load(Deployment::start(&home), (0, 200), end).await;
    let deployment = rest.complete(&home);
    check_logins(&deployment, &told).await;
    check_claims(&deployment, (0, &claimed), &home).await;
}
