//! Several processes on one database: they start at once, serialise the writes of a user, and see each other's writes.

use challenge::role::Role;
use challenge::server::{Running, start};
use hyper::StatusCode;
use kit::process::Service;
use testkit::data::TestDatabase;
use tokio::task::JoinSet;

use crate::process::started_as;
use crate::support::{Player, Publisher};

const LOGIN_GOAL: &str = "goal-010-01";

async fn replicas(database: &TestDatabase, count: usize) -> Vec<Running> {
    let mut starting = JoinSet::new();
    for _ in 0..count {
        let settings = crate::database::settings(database, &[("DB_WRITERS", "1"), ("DB_READERS", "1")]);
        starting.spawn(async move { start(&settings, Role::All).await.unwrap() });
    }
    starting.join_all().await
}

fn player(running: &Running, user: &str) -> Player {
    Player::new(running.addresses.http.unwrap(), user)
}

async fn stop(replicas: Vec<Running>) {
    for running in replicas {
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_start_at_once_migrate_once() {
    let database = TestDatabase::postgres();
    let replicas = replicas(&database, 4).await;
    assert_eq!(database.count("SELECT count(*) FROM schema_steps"), 3);
    player(&replicas[0], "ann").initialize().await;
    assert_eq!(player(&replicas[3], "ann").goal(LOGIN_GOAL).await["isActive"], true);
    stop(replicas).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledged_write_is_visible_in_the_next_read_on_any_replica() {
    let database = TestDatabase::postgres();
    let replicas = replicas(&database, 3).await;
    let mut publishers = Vec::new();
    for running in &replicas {
        publishers.push(Publisher::connect(running.addresses.events.unwrap()).await);
    }
    for round in 0..60 {
        publishers[round % 3].log_in("ann", &round.to_string()).await.unwrap();
        let seen = player(&replicas[(round + 1) % 3], "ann").goal(LOGIN_GOAL).await;
        assert_eq!(seen["progress"], round + 1);
    }
    stop(replicas).await;
}

/// The same event delivered to every replica at once, and different ones, all for one user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_users_events_on_all_replicas_count_once_each() {
    let database = TestDatabase::postgres();
    let replicas = replicas(&database, 3).await;
    let mut deliveries = JoinSet::new();
    for running in &replicas {
        let publisher = Publisher::connect(running.addresses.events.unwrap()).await;
        for id in 0..100 {
            let mut publisher = publisher.clone();
            deliveries.spawn(async move { publisher.log_in("ann", &id.to_string()).await });
        }
    }
    assert!(deliveries.join_all().await.into_iter().all(|delivered| delivered.is_ok()));
    assert_eq!(player(&replicas[0], "ann").goal(LOGIN_GOAL).await["progress"], 100);
    stop(replicas).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_first_initializes_assign_once_and_a_thousand_claims_grant_once() {
    let database = TestDatabase::postgres();
    let replicas = replicas(&database, 2).await;
    let mut first = JoinSet::new();
    for round in 0..1_000 {
        let ann = player(&replicas[round % 2], "ann");
        first.spawn(async move { ann.initialize().await["newAssignments"].as_u64().unwrap() });
    }
    assert_eq!(first.join_all().await.into_iter().sum::<u64>(), 10, "counted by one call alone");
    assert_eq!(database.count("SELECT count(*) FROM user_goal_progress"), 10);

    Publisher::connect(replicas[0].addresses.events.unwrap()).await.log_in("ann", "1").await.unwrap();
    let mut claims = JoinSet::new();
    for round in 0..1_000 {
        let ann = player(&replicas[round % 2], "ann");
        claims.spawn(async move { ann.claim(LOGIN_GOAL).await.0 });
    }
    let answers = claims.join_all().await;
    let of = |expected: StatusCode| answers.iter().filter(|status| **status == expected).count();
    assert_eq!((of(StatusCode::OK), of(StatusCode::CONFLICT)), (1, 999));
    assert_eq!(database.count("SELECT count(*) FROM reward_ledger"), 1);
    stop(replicas).await;
}

/// Two processes of the real binary, each of which receives every event: each event counts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_count_and_grant_once_and_see_each_others_writes() {
    let database = TestDatabase::postgres();
    let processes = ["all", "all"].map(|role| started_as(&database, role));
    let mut publishers = Vec::new();
    for process in &processes {
        publishers.push(Publisher::connect(process.address("events")).await);
    }
    let ann = processes.each_ref().map(|process| Player::new(process.address("http"), "ann"));
    for round in 0..20 {
        publishers[round % 2].log_in("ann", &round.to_string()).await.unwrap();
        assert_eq!(ann[(round + 1) % 2].goal(LOGIN_GOAL).await["progress"], round + 1);
    }
    let mut deliveries = JoinSet::new();
    for id in 0..100 {
        for publisher in &publishers {
            let mut publisher = publisher.clone();
            deliveries.spawn(async move { publisher.log_in("ann", &id.to_string()).await });
        }
    }
    assert!(deliveries.join_all().await.into_iter().all(|delivered| delivered.is_ok()));
    let mut claims = JoinSet::new();
    for round in 0..100 {
        let ann = ann[round % 2].clone();
        claims.spawn(async move { ann.claim(LOGIN_GOAL).await.0 });
    }
    let answers = claims.join_all().await;
    assert_eq!(answers.iter().filter(|status| **status == StatusCode::OK).count(), 1);
    for ann in &ann {
        assert_eq!(ann.goal(LOGIN_GOAL).await["progress"], 100);
    }
    assert_eq!(database.count("SELECT count(*) FROM reward_ledger"), 1);
    for process in processes {
        assert!(process.terminate().success());
    }
}

/// Every goal is a default, so each replica reads only the goals that a write may change; each write builds on the other
/// replica's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_read_in_part_include_the_writes_of_another_replica() {
    let database = TestDatabase::postgres();
    let path = database.path().join("all.json");
    let counts = challenge::catalog::CatalogSize { challenges: 10, goals: 50, defaults: 500 };
    std::fs::write(&path, challenge::catalog::generate(counts)).unwrap();
    let settings = crate::database::settings(
        &database,
        &[("DB_WRITERS", "1"), ("CHALLENGE_CONFIG_PATH", path.to_str().unwrap())],
    );
    let mut replicas = Vec::new();
    for _ in 0..2 {
        replicas.push(start(&settings, Role::All).await.unwrap());
    }
    for round in 0..10 {
        let mut publisher = Publisher::connect(replicas[round % 2].addresses.events.unwrap()).await;
        publisher.log_in("ann", &round.to_string()).await.unwrap();
        assert_eq!(player(&replicas[0], "ann").goal(LOGIN_GOAL).await["progress"], round + 1);
    }
    player(&replicas[0], "ann").set_active(LOGIN_GOAL, r#"{"isActive":false}"#).await;
    Publisher::connect(replicas[1].addresses.events.unwrap()).await.log_in("ann", "late").await.unwrap();
    assert_eq!(player(&replicas[0], "ann").goal(LOGIN_GOAL).await["progress"], 10);
    player(&replicas[1], "ann").set_active(LOGIN_GOAL, r#"{"isActive":true}"#).await;
    assert_eq!(player(&replicas[0], "ann").claim(LOGIN_GOAL).await.0, StatusCode::OK);
    Publisher::connect(replicas[1].addresses.events.unwrap()).await.log_in("ann", "later").await.unwrap();
    assert_eq!(player(&replicas[1], "ann").claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT);
    assert_eq!(player(&replicas[1], "ann").goal(LOGIN_GOAL).await["progress"], 10);
    assert_eq!(database.count("SELECT count(*) FROM user_goal_progress"), 500);
    stop(replicas).await;
}

/// Plans are made on empty tables and reused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_were_empty_at_first_are_never_scanned_sequentially() {
    let database = TestDatabase::postgres();
    let replicas = replicas(&database, 1).await;
    let mut publisher = Publisher::connect(replicas[0].addresses.events.unwrap()).await;
    for user in 0..40 {
        let user = format!("user-{user}");
        player(&replicas[0], &user).initialize().await;
        publisher.log_in(&user, "1").await.unwrap();
        assert_eq!(player(&replicas[0], &user).claim(LOGIN_GOAL).await.0, StatusCode::OK);
    }
    // PostgreSQL publishes the statistics of a connection when it ends.
    stop(replicas).await;
    let whole = "SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables
                 WHERE relname IN ('user_goal_progress', 'players', 'event_ids', 'reward_ledger')";
    assert_eq!(database.count(whole), 0);
}
