//! Several processes on one database: they start at once, take turns at a user, and show each other's writes.

use crate::home::Home;
use crate::process::Process;
use crate::support::{Player, Publisher};
use challenge::server::{Role, Running, start};
use hyper::StatusCode;
use tokio::task::JoinSet;

const LOGIN_GOAL: &str = "goal-010-01";

async fn replicas(home: &Home, count: usize) -> Vec<Running> {
    let mut starting = JoinSet::new();
    for _ in 0..count {
        let settings = home.settings(&[("DB_WRITERS", "1"), ("DB_READERS", "1")]);
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
    let home = Home::new();
    let replicas = replicas(&home, 4).await;
    assert_eq!(home.count("SELECT count(*) FROM schema_steps"), 1);
    player(&replicas[0], "ann").initialize().await;
    assert_eq!(player(&replicas[3], "ann").goal(LOGIN_GOAL).await["isActive"], true);
    stop(replicas).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_was_answered_shows_in_the_next_read_on_any_replica() {
    let home = Home::new();
    let replicas = replicas(&home, 3).await;
    let mut publishers = Vec::new();
    for running in &replicas {
        publishers.push(Publisher::connect(running.addresses).await);
    }
    for turn in 0..60 {
        publishers[turn % 3].log_in("ann", &turn.to_string()).await.unwrap();
        let seen = player(&replicas[(turn + 1) % 3], "ann").goal(LOGIN_GOAL).await;
        assert_eq!(seen["progress"], turn + 1);
    }
    stop(replicas).await;
}

/// The same event delivered to every replica at once, and different ones, all for one user.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_users_events_on_all_replicas_count_once_each() {
    let home = Home::new();
    let replicas = replicas(&home, 3).await;
    let mut deliveries = JoinSet::new();
    for running in &replicas {
        let publisher = Publisher::connect(running.addresses).await;
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
    let home = Home::new();
    let replicas = replicas(&home, 2).await;
    let mut first = JoinSet::new();
    for turn in 0..1_000 {
        let ann = player(&replicas[turn % 2], "ann");
        first.spawn(async move { ann.initialize().await["newAssignments"].as_u64().unwrap() });
    }
    assert_eq!(first.join_all().await.into_iter().sum::<u64>(), 10, "counted by one call alone");
    assert_eq!(home.count("SELECT count(*) FROM user_goal_progress"), 10);

    Publisher::connect(replicas[0].addresses).await.log_in("ann", "1").await.unwrap();
    let mut claims = JoinSet::new();
    for turn in 0..1_000 {
        let ann = player(&replicas[turn % 2], "ann");
        claims.spawn(async move { ann.claim(LOGIN_GOAL).await.0 });
    }
    let answers = claims.join_all().await;
    let of = |wanted: StatusCode| answers.iter().filter(|status| **status == wanted).count();
    assert_eq!((of(StatusCode::OK), of(StatusCode::CONFLICT)), (1, 999));
    assert_eq!(home.count("SELECT count(*) FROM reward_ledger"), 1);
    stop(replicas).await;
}

/// Two processes of the real binary, each of which is told everything: all of it counts once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_count_and_grant_once_and_show_each_others_writes() {
    let home = Home::new();
    let processes = ["all", "all"].map(|role| Process::start_as(&home, role));
    let mut publishers = Vec::new();
    for process in &processes {
        publishers.push(Publisher::connect(process.addresses).await);
    }
    let ann = processes.each_ref().map(|process| Player::new(process.addresses.http.unwrap(), "ann"));
    for turn in 0..20 {
        publishers[turn % 2].log_in("ann", &turn.to_string()).await.unwrap();
        assert_eq!(ann[(turn + 1) % 2].goal(LOGIN_GOAL).await["progress"], turn + 1);
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
    for turn in 0..100 {
        let ann = ann[turn % 2].clone();
        claims.spawn(async move { ann.claim(LOGIN_GOAL).await.0 });
    }
    let answers = claims.join_all().await;
    assert_eq!(answers.iter().filter(|status| **status == StatusCode::OK).count(), 1);
    for ann in &ann {
        assert_eq!(ann.goal(LOGIN_GOAL).await["progress"], 100);
    }
    assert_eq!(home.count("SELECT count(*) FROM reward_ledger"), 1);
    for process in processes {
        assert!(process.terminate().success());
    }
}

/// Every goal is everybody's, so each replica reads only what a write may touch; each write builds on the other's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_read_in_part_is_what_another_replica_left() {
    let home = Home::new();
    let path = home.path().join("all.json");
    let counts = challenge::catalog::Counts { challenges: 10, goals: 50, defaults: 500 };
    std::fs::write(&path, challenge::catalog::generate(counts)).unwrap();
    let settings = home.settings(&[("DB_WRITERS", "1"), ("CHALLENGE_CONFIG_PATH", path.to_str().unwrap())]);
    let mut replicas = Vec::new();
    for _ in 0..2 {
        replicas.push(start(&settings, Role::All).await.unwrap());
    }
    for turn in 0..10 {
        let mut publisher = Publisher::connect(replicas[turn % 2].addresses).await;
        publisher.log_in("ann", &turn.to_string()).await.unwrap();
        assert_eq!(player(&replicas[0], "ann").goal(LOGIN_GOAL).await["progress"], turn + 1);
    }
    player(&replicas[0], "ann").set_active(LOGIN_GOAL, r#"{"isActive":false}"#).await;
    Publisher::connect(replicas[1].addresses).await.log_in("ann", "late").await.unwrap();
    assert_eq!(player(&replicas[0], "ann").goal(LOGIN_GOAL).await["progress"], 10);
    player(&replicas[1], "ann").set_active(LOGIN_GOAL, r#"{"isActive":true}"#).await;
    assert_eq!(player(&replicas[0], "ann").claim(LOGIN_GOAL).await.0, StatusCode::OK);
    Publisher::connect(replicas[1].addresses).await.log_in("ann", "later").await.unwrap();
    assert_eq!(player(&replicas[1], "ann").claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT);
    assert_eq!(player(&replicas[1], "ann").goal(LOGIN_GOAL).await["progress"], 10);
    assert_eq!(home.count("SELECT count(*) FROM user_goal_progress"), 500);
    stop(replicas).await;
}

/// Plans are made on empty tables, and kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_were_empty_at_first_are_never_read_as_a_whole() {
    let home = Home::new();
    let replicas = replicas(&home, 1).await;
    let mut publisher = Publisher::connect(replicas[0].addresses).await;
    for user in 0..40 {
        let user = format!("user-{user}");
        player(&replicas[0], &user).initialize().await;
        publisher.log_in(&user, "1").await.unwrap();
        assert_eq!(player(&replicas[0], &user).claim(LOGIN_GOAL).await.0, StatusCode::OK);
    }
    // What a connection has read is known once it has ended.
    stop(replicas).await;
    let whole = "SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_user_tables
                 WHERE relname IN ('user_goal_progress', 'players', 'event_ids', 'reward_ledger')";
    assert_eq!(home.count(whole), 0);
}
