//! The faults of the store that only PostgreSQL can show.

use crate::home::Home;
use crate::locked::{Locked, waiting};
use crate::process::{Process, serving};
use crate::support::{Client, a_product, get, until};
use listings::proto::{CreateListingRequest, IsFavoriteRequest};
use std::process::Stdio;
use tokio::task::JoinSet;

fn start(home: &Home, faults: &str) -> Process {
    let mut command = serving(home);
    command.env("INJECT_FAULTS", faults).env("DB_WRITERS", "4").env("DB_STATEMENT_TIMEOUT_MS", "30000");
    Process::started(&mut command, Stdio::null())
}

async fn metric(process: &Process, name: &str) -> i64 {
    let metrics = get(process.addresses.http, "/metrics").await.1;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {metrics}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_who_ask_the_same_each_ask_the_store() {
    for (faults, asked) in [("leak-memory=1", 1), ("stampede=3600000", 3)] {
        let home = Home::new();
        let process = start(&home, faults);
        let client = Client::connect(process.addresses.grpc).await;
        let locked = Locked::hold(&home, "categories").await;
        let mut callers = JoinSet::new();
        for _ in 0..3 {
            let mut client = client.clone();
            callers.spawn(async move { client.rpc.get_all_categories(()).await.unwrap() });
        }
        let misses = "listings_cache_misses_total{kind=\"categories\"}";
        until("all of them have asked", async || metric(&process, misses).await == 3).await;
        until("as many statements wait as were asked", async || waiting(&home) == asked).await;
        locked.let_go().await;
        callers.join_all().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_wait_for_a_connection() {
    for (faults, connections) in [("leak-memory=1", 3), ("narrow-store=1", 1)] {
        let home = Home::new();
        let process = start(&home, faults);
        assert_eq!(metric(&process, "listings_db_connections_open").await, connections);
        let client = Client::connect(process.addresses.grpc).await;
        let locked = Locked::hold(&home, "listing_favorites").await;
        let mut callers = JoinSet::new();
        for user_id in 1..=3 {
            let mut client = client.clone();
            let asked = IsFavoriteRequest { user_id, listing_id: 1 };
            callers.spawn(async move { client.rpc.is_favorite(asked).await.unwrap() });
        }
        until("the database has what it gets", async || waiting(&home) == connections).await;
        let waits = "listings_db_waits_total";
        until("the others wait", async || metric(&process, waits).await == 3 - connections).await;
        locked.let_go().await;
        callers.join_all().await;
    }
}

/// Rows of listings that PostgreSQL has read for ten questions about one storefront of twenty listings.
async fn rows_read(faults: &str) -> i64 {
    let home = Home::new();
    let process = start(&home, faults);
    let mut client = Client::connect(process.addresses.grpc).await;
    for _ in 0..20 {
        client.create(a_product()).await;
    }
    for _ in 0..10 {
        assert_eq!(client.stats(3).await.total_value, 3_998.0);
    }
    drop(client);
    // What a connection has read is known once it has ended.
    assert!(process.terminate().success());
    // Through an index or not: the database may be told to use one even where it serves nothing.
    home.count("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'listings'")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_are_added_up_over_all_rows() {
    let usual = rows_read("leak-memory=1").await;
    let slow = rows_read("unindexed=2").await;
    assert!(slow >= usual + 100, "{usual} {slow}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn movements_are_lost_and_nobody_is_told() {
    let home = Home::new();
    let process = start(&home, "read-then-write=1");
    let mut client = Client::connect(process.addresses.grpc).await;
    let id = client.create(CreateListingRequest { quantity: 0, ..a_product() }).await.id;
    let mut acknowledged = 0;
    until("fewer are in stock than were acknowledged", async || {
        let mut movements = JoinSet::new();
        for _ in 0..50 {
            let mut client = client.clone();
            movements.spawn(async move { client.move_stock(id, ("in", 1)).await.unwrap() });
        }
        acknowledged += movements.join_all().await.len() as i32;
        client.product(id).await.unwrap().stock_quantity < acknowledged
    })
    .await;
    assert_eq!(home.count("SELECT count(*) FROM inventory_movements"), i64::from(acknowledged));
}
