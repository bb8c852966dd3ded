//! The faults of the store that only PostgreSQL can show.

use crate::home::Home;
use crate::process::Process;
use crate::support::{Player, Publisher};

/// What PostgreSQL counted of five players' goals after `faults` and ten events of one of them, once it is known.
async fn counted(faults: &str, column: &str) -> i64 {
    let home = Home::new();
    let process = Process::start_with(&home, &[("INJECT_FAULTS", faults.to_owned())]);
    for user in ["ann", "ben", "cat", "dan", "eve"] {
        Player::new(process.addresses.http.unwrap(), user).initialize().await;
    }
    let mut publisher = Publisher::connect(process.addresses).await;
    for event in 0..10 {
        publisher.log_in("ann", &event.to_string()).await.unwrap();
    }
    // What a connection has read is known once it has ended.
    assert!(process.terminate().success());
    home.count(&format!("SELECT {column} FROM pg_stat_user_tables WHERE relname = 'user_goal_progress'"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goals_are_read_one_by_one() {
    let usual = counted("leak-memory=1", "idx_scan").await;
    let slow = counted("goal-by-goal=2", "idx_scan").await;
    // Ten events, each twice the ten goals of one player and the list of them.
    assert!(slow >= usual + 220, "{usual} {slow}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_table_is_read() {
    // Through an index or not: the database is told to use one even where it serves nothing.
    let rows = "seq_tup_read + idx_tup_fetch";
    let usual = counted("leak-memory=1", rows).await;
    let slow = counted("unindexed=2", rows).await;
    // Every other event: ten goals of five players.
    assert!(slow >= usual + 250, "{usual} {slow}");
}
