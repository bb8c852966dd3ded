//! The injected faults that apply only to PostgreSQL.

use testkit::data::TestDatabase;
use testkit::time::until;

use crate::process::started;
use crate::support::{Player, Publisher};

/// A statistic of the table of goals, after five players were initialised and one of them had ten events, with `faults`.
async fn counted(faults: &str, column: &str) -> i64 {
    let database = TestDatabase::postgres();
    let process = started(&database, &[("INJECT_FAULTS", faults.to_owned())]);
    for user in ["ann", "ben", "cat", "dan", "eve"] {
        Player::new(process.address("http"), user).initialize().await;
    }
    let mut publisher = Publisher::connect(process.address("events")).await;
    for event in 0..10 {
        publisher.log_in("ann", &event.to_string()).await.unwrap();
    }
    // PostgreSQL publishes the statistics of a connection when it ends, a moment after its client did.
    assert!(process.terminate().success());
    let connected = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'challenge'";
    until("the connections of the service are gone", async || database.count(connected) == 0).await;
    database.count(&format!("SELECT {column} FROM pg_stat_user_tables WHERE relname = 'user_goal_progress'"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn goals_are_read_one_by_one() {
    let usual = counted("leak-memory=1", "idx_scan").await;
    let slow = counted("goal-by-goal=2", "idx_scan").await;
    // Ten events: each reads twice the ten goals of one player, and the list of them.
    assert!(slow >= usual + 220, "{usual} {slow}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_table_is_read() {
    // With or without an index: the database is configured to prefer one even where it does not help.
    let rows = "seq_tup_read + idx_tup_fetch";
    let usual = counted("leak-memory=1", rows).await;
    let slow = counted("unindexed=2", rows).await;
    // Every other event: ten goals of five players.
    assert!(slow >= usual + 250, "{usual} {slow}");
}
