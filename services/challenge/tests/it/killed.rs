//! The real binary under load, killed at an arbitrary moment: everything acknowledged is stored, and counted once.
//!
//! `CHALLENGE_KILL_ROUNDS` sets how many rounds are run (3 when unset).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::StatusCode;
use testkit::data::usual_store;
use testkit::data::{StoreKind, TestDatabase};
use testkit::killed::{Load, rounds};
use testkit::process::Process;
use tokio::task::JoinSet;

use crate::process::started_as;
use crate::support::{Player, Publisher};

const LOGIN_GOAL: &str = "goal-010-01";
const KILLS_GOAL: &str = "goal-001-01";
const USERS: usize = 8;
const CLAIMERS: usize = 60;

/// The logins of one user: the ids acknowledged, and the one without an answer.
#[derive(Debug, Default)]
struct LoginRecord {
    user: String,
    acknowledged: Vec<String>,
    unanswered: Option<String>,
}

/// The claim of one user.
#[derive(Debug)]
struct ClaimRecord {
    user: String,
    is_acknowledged: bool,
}

async fn log_in_until_cut(mut publisher: Publisher, user: String, load: Arc<Load>) -> LoginRecord {
    let mut logins = LoginRecord { user: user.clone(), ..LoginRecord::default() };
    for number in 0.. {
        if load.is_over() {
            break;
        }
        let id = format!("{user}-{number}");
        match publisher.log_in(&user, &id).await {
            Ok(()) => logins.acknowledged.push(id),
            Err(_cut) => {
                logins.unanswered = Some(id);
                break;
            }
        }
        load.acknowledge();
    }
    logins
}

async fn claim_once(mut publisher: Publisher, player: Player, user: String) -> ClaimRecord {
    let lost = ClaimRecord { user: user.clone(), is_acknowledged: false };
    if publisher.update_statistic(&user, "enemy_kills", 10.0).await.is_err() {
        return lost;
    }
    let answer = player.try_claim(KILLS_GOAL).await;
    ClaimRecord { is_acknowledged: answer.is_ok_and(|(status, _)| status == StatusCode::OK), ..lost }
}

/// The processes of a service by their roles: one, or with PostgreSQL one each for players and publishers.
struct Deployment {
    parts: Vec<(&'static str, Process)>,
}

impl Deployment {
    fn roles(database: &TestDatabase) -> &'static [&'static str] {
        match database.kind {
            StoreKind::Sqlite => &["all"],
            StoreKind::Postgres => &["api", "events"],
        }
    }

    fn start(database: &TestDatabase) -> Self {
        Self { parts: Self::roles(database).iter().map(|role| (*role, started_as(database, role))).collect() }
    }

    fn address(&self, name: &str) -> SocketAddr {
        let processes = self.parts.iter().map(|(_, process)| process);
        processes.into_iter().find(|process| process.has(name)).unwrap().address(name)
    }

    /// Kills one process, or in every third round all of them, and returns the rest.
    fn kill(mut self, round: usize) -> Self {
        let victims = match round % 3 {
            2 => self.parts.drain(..).collect::<Vec<_>>(),
            part => vec![self.parts.remove((part + 1) % self.parts.len())],
        };
        victims.into_iter().for_each(|(_, process)| process.kill());
        self
    }

    /// Starts the missing processes.
    fn complete(mut self, database: &TestDatabase) -> Self {
        for role in Self::roles(database) {
            if self.parts.iter().all(|(running, _)| running != role) {
                self.parts.push((role, started_as(database, role)));
            }
        }
        self
    }

    fn player(&self, user: &str) -> Player {
        Player::new(self.address("http"), user)
    }
}

/// The result of a load.
struct LoadOutcome {
    /// The processes that still run.
    rest: Deployment,
    logins: Vec<LoginRecord>,
    claims: Vec<ClaimRecord>,
}

/// Offers load until `enough` logins were acknowledged, then runs `end` on the deployment.
async fn load(
    deployment: Deployment,
    round: usize,
    enough: usize,
    end: impl FnOnce(Deployment) -> Deployment + Send + 'static,
) -> LoadOutcome {
    let publisher = Publisher::connect(deployment.address("events")).await;
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
    load.reach(enough).await;
    let rest = tokio::task::spawn_blocking(move || end(deployment)).await.unwrap();
    load.end();
    LoadOutcome { rest, logins: logins.join_all().await, claims: claims.join_all().await }
}

/// Repeats unanswered logins and some acknowledged ones, then compares the count with the progress.
async fn check_logins(deployment: &Deployment, records: &[LoginRecord]) {
    let mut publisher = Publisher::connect(deployment.address("events")).await;
    for logins in records {
        let again = logins.acknowledged.iter().rev().take(20).chain(&logins.unanswered);
        for id in again {
            publisher.log_in(&logins.user, id).await.unwrap();
        }
        let expected = logins.acknowledged.len() + usize::from(logins.unanswered.is_some());
        let goal = deployment.player(&logins.user).goal(LOGIN_GOAL).await;
        assert_eq!(goal["progress"], expected, "{}: each event counts once", logins.user);
    }
}

async fn check_claims(
    deployment: &Deployment,
    round: usize,
    records: &[ClaimRecord],
    database: &TestDatabase,
) {
    let mut publisher = Publisher::connect(deployment.address("events")).await;
    for claim in records {
        publisher.update_statistic(&claim.user, "enemy_kills", 10.0).await.unwrap();
        let (status, answer) = deployment.player(&claim.user).claim(KILLS_GOAL).await;
        let is_consistent =
            status == StatusCode::CONFLICT || (status == StatusCode::OK && !claim.is_acknowledged);
        assert!(is_consistent, "{claim:?}: {status} {answer}");
    }
    let of_round = format!("FROM reward_ledger WHERE user_id LIKE 'claim-{round}-%'");
    assert_eq!(database.count(&format!("SELECT count(DISTINCT user_id) {of_round}")), CLAIMERS as i64);
    assert_eq!(database.count(&format!("SELECT count(*) {of_round}")), CLAIMERS as i64, "one grant each");
    assert_eq!(database.count("SELECT count(*) FROM claims WHERE granted_at IS NULL"), 0);
}

#[allow(clippy::print_stdout, reason = "the figures of a soak are read by people")]
fn print_acknowledged(acknowledged: &BTreeMap<usize, (usize, usize)>) {
    println!(
        "{:?}: logins and claims (of {CLAIMERS}) acknowledged before the kill: {acknowledged:?}",
        usual_store()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_and_duplicates_nothing() {
    let database = TestDatabase::new();
    let mut deployment = Deployment::start(&database);
    let mut acknowledged = BTreeMap::new();
    for round in 0..rounds("CHALLENGE_KILL_ROUNDS") {
        // Rounds end at different moments: early with claims in flight, or later.
        let enough = if round % 2 == 0 { 1 + round % 12 } else { 40 + (round * 7919) % 600 };
        let kill = move |deployment: Deployment| deployment.kill(round);
        let outcome = load(deployment, round, enough, kill).await;
        deployment = outcome.rest.complete(&database);
        check_logins(&deployment, &outcome.logins).await;
        check_claims(&deployment, round, &outcome.claims, &database).await;
        let logins: usize = outcome.logins.iter().map(|logins| logins.acknowledged.len()).sum();
        let claims = outcome.claims.iter().filter(|claim| claim.is_acknowledged).count();
        acknowledged.insert(round, (logins, claims));
    }
    print_acknowledged(&acknowledged);
    assert!(acknowledged.values().all(|(logins, _)| *logins >= 1), "{acknowledged:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_under_load_drains_and_exits_0() {
    let database = TestDatabase::new();
    let end = |deployment: Deployment| {
        for (role, process) in deployment.parts {
            assert!(process.terminate().success(), "{role}");
        }
        Deployment { parts: Vec::new() }
    };
    let outcome = load(Deployment::start(&database), 0, 200, end).await;
    let deployment = outcome.rest.complete(&database);
    check_logins(&deployment, &outcome.logins).await;
    check_claims(&deployment, 0, &outcome.claims, &database).await;
}
