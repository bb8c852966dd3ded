//! Injected faults that need PostgreSQL.

use listings::proto::{CreateListingRequest, IsFavoriteRequest};
use testkit::data::TestDatabase;
use testkit::process::Process;
use testkit::until;
use tokio::task::JoinSet;

use crate::postgres::table_lock::{TableLock, waiting};
use crate::process::serving;
use crate::support::{Client, a_product};

fn start(store: &TestDatabase, faults: &str) -> Process {
    let mut command = serving(store);
    command.env("INJECT_FAULTS", faults).env("DB_WRITERS", "4").env("DB_STATEMENT_TIMEOUT_MS", "30000");
    Process::start(&mut command)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_stampede_concurrent_reads_each_query_the_store() {
    for (faults, statements) in [("leak-memory=1", 1), ("stampede=3600000", 3)] {
        let store = TestDatabase::postgres();
        let process = start(&store, faults);
        let client = Client::connect(process.address("grpc")).await;
        let lock = TableLock::acquire(&store, "categories").await;
        let mut callers = JoinSet::new();
        for _ in 0..3 {
            let mut client = client.clone();
            callers.spawn(async move { client.rpc.get_all_categories(()).await.unwrap() });
        }
        let misses = "listings_cache_misses_total{kind=\"categories\"}";
        until("all reads have missed the cache", async || process.admin().metric(misses).await == 3.0).await;
        until("the expected number of statements waits", async || waiting(&store) == statements).await;
        lock.release().await;
        callers.join_all().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_few_connections_reads_wait() {
    for (faults, connections) in [("leak-memory=1", 3.0), ("narrow-store=1", 1.0)] {
        let store = TestDatabase::postgres();
        let process = start(&store, faults);
        assert_eq!(process.admin().metric("listings_db_connections_open").await, connections);
        let client = Client::connect(process.address("grpc")).await;
        let lock = TableLock::acquire(&store, "listing_favorites").await;
        let mut callers = JoinSet::new();
        for user_id in 1..=3 {
            let mut client = client.clone();
            let request = IsFavoriteRequest { user_id, listing_id: 1 };
            callers.spawn(async move { client.rpc.is_favorite(request).await.unwrap() });
        }
        until("all connections are in use", async || waiting(&store) as f64 == connections).await;
        let waits = "listings_db_waits_total";
        until("the other reads wait", async || process.admin().metric(waits).await == 3.0 - connections)
            .await;
        lock.release().await;
        callers.join_all().await;
    }
}

/// Rows of `listings` that PostgreSQL reads for ten reads of the statistics of a storefront with twenty listings.
async fn rows_read(faults: &str) -> i64 {
    let store = TestDatabase::postgres();
    let process = start(&store, faults);
    let mut client = Client::connect(process.address("grpc")).await;
    for _ in 0..20 {
        client.create(a_product()).await;
    }
    for _ in 0..10 {
        assert_eq!(client.stats(3).await.total_value, 3_998.0);
    }
    drop(client);
    // A connection reports its reads when it ends.
    assert!(process.terminate().success());
    // With and without an index: PostgreSQL may be configured to prefer an index even when it does not help.
    store.count("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'listings'")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statistics_without_an_index_read_all_rows() {
    let usual = rows_read("leak-memory=1").await;
    let slow = rows_read("unindexed=2").await;
    assert!(slow >= usual + 100, "{usual} {slow}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn movements_are_lost_without_an_error() {
    let store = TestDatabase::postgres();
    let process = start(&store, "read-then-write=1");
    let mut client = Client::connect(process.address("grpc")).await;
    let id = client.create(CreateListingRequest { quantity: 0, ..a_product() }).await.id;
    let mut acknowledged = 0;
    until("the stock is below the acknowledged movements", async || {
        let mut movements = JoinSet::new();
        for _ in 0..50 {
            let mut client = client.clone();
            movements.spawn(async move { client.move_stock(id, "in", 1).await.unwrap() });
        }
        acknowledged += movements.join_all().await.len() as i32;
        client.product(id).await.unwrap().stock_quantity < acknowledged
    })
    .await;
    assert_eq!(store.count("SELECT count(*) FROM inventory_movements"), i64::from(acknowledged));
}
