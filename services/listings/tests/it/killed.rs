//! The process is ended under load at an arbitrary moment: every acknowledged write is kept, and applied once.
//!
//! `LISTINGS_KILL_ROUNDS` is the number of rounds (3 by default).

use std::sync::Arc;

use listings::proto::{AddToFavoritesRequest, CreateListingRequest, DecrementStockRequest, StockItem};
use testkit::data::TestDatabase;
use testkit::http::connect_and_send;
use testkit::killed::{Load, rounds};
use testkit::process::Process;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::task::JoinSet;

use crate::http::{BASE, BIKE};
use crate::process::started;
use crate::support::{Client, a_product};

const CALLERS: usize = 8;

/// The writes of one caller.
#[derive(Debug, Default)]
struct CallerRecord {
    product: i64,
    /// Acknowledged movements.
    moved: i64,
    /// Acknowledged orders.
    orders: Vec<String>,
    /// Acknowledged favourites.
    favorites: i64,
    /// The write that was not answered, if any; its outcome is unknown.
    unknown: Option<UnknownWrite>,
}

#[derive(Debug, PartialEq, Eq)]
enum UnknownWrite {
    Movement,
    Order(String),
    Favorite,
}

impl CallerRecord {
    fn unknown_order(&self) -> Option<&String> {
        match &self.unknown {
            Some(UnknownWrite::Order(order)) => Some(order),
            _ => None,
        }
    }

    /// The numbers of rows that are consistent with `acknowledged` writes of this kind.
    fn consistent(&self, acknowledged: i64, kind: &UnknownWrite) -> std::ops::RangeInclusive<i64> {
        acknowledged..=acknowledged + i64::from(self.unknown.as_ref() == Some(kind))
    }
}

async fn write_until_disconnected(
    mut client: Client,
    order_prefix: String,
    product: i64,
    load: Arc<Load>,
) -> CallerRecord {
    let mut record = CallerRecord { product, ..CallerRecord::default() };
    for number in 0_i64.. {
        if load.is_over() {
            break;
        }
        match client.move_stock(product, "in", 2).await {
            Ok(_) => record.moved += 1,
            Err(_disconnected) => {
                record.unknown = Some(UnknownWrite::Movement);
                break;
            }
        }
        let order = format!("{order_prefix}-{number}");
        let item = StockItem { product_id: product, variant_id: None, quantity: 1 };
        let request = DecrementStockRequest { items: vec![item], order_id: Some(order.clone()) };
        match client.rpc.decrement_stock(request).await {
            Ok(answer) => {
                assert!(answer.into_inner().success);
                record.orders.push(order);
            }
            Err(_disconnected) => {
                record.unknown = Some(UnknownWrite::Order(order));
                break;
            }
        }
        let user_id = 1_000 + number;
        match client.rpc.add_to_favorites(AddToFavoritesRequest { user_id, listing_id: product }).await {
            Ok(_) => record.favorites += 1,
            Err(_disconnected) => {
                record.unknown = Some(UnknownWrite::Favorite);
                break;
            }
        }
        load.acknowledge();
    }
    record
}

/// Repeats an order with an unknown outcome, which must not be applied twice, then compares the record with the store.
async fn check(client: &mut Client, record: &CallerRecord, store: &TestDatabase) {
    let product = record.product;
    let before = i64::from(client.product(product).await.unwrap().stock_quantity);
    if let Some(order) = record.unknown_order() {
        let item = StockItem { product_id: product, variant_id: None, quantity: 1 };
        let request = DecrementStockRequest { items: vec![item], order_id: Some(order.clone()) };
        assert!(client.rpc.decrement_stock(request).await.unwrap().into_inner().success);
    }
    let orders = record.orders.len() as i64 + i64::from(record.unknown_order().is_some());
    let product_now = client.product(product).await.unwrap();
    assert!(i64::from(product_now.stock_quantity) <= before);
    assert_eq!(i64::from(product_now.sold_count), orders, "each order counts once");
    let moved = (i64::from(product_now.stock_quantity) + orders - 1_000) / 2;
    let consistent = record.consistent(record.moved, &UnknownWrite::Movement);
    assert!(consistent.contains(&moved), "{moved} of {record:?}");
    let favorites =
        store.count(&format!("SELECT count(*) FROM listing_favorites WHERE listing_id = {product}"));
    let consistent = record.consistent(record.favorites, &UnknownWrite::Favorite);
    assert!(consistent.contains(&favorites), "{favorites} of {record:?}");
}

/// The stored statistics equal those of the rows.
fn check_stats(store: &TestDatabase) {
    let rows = "SELECT sum(price_hundredths * quantity) FROM listings WHERE deleted_at IS NULL";
    let stored = match store.kind {
        testkit::data::StoreKind::Sqlite => {
            "SELECT sum(CAST(value_hundredths AS INTEGER)) FROM storefront_stats"
        }
        testkit::data::StoreKind::Postgres => "SELECT sum(value_hundredths) FROM storefront_stats",
    };
    assert_eq!(store.count(rows), store.count(stored));
    let (rows, stored) = ("SELECT count(*) FROM listings", "SELECT sum(listings) FROM category_counts");
    assert_eq!(store.count(rows), store.count(stored));
    let duplicates = "SELECT count(*) - count(DISTINCT id) FROM listings";
    assert_eq!(store.count(duplicates), 0);
}

/// Runs a load; ends the process when at least `enough` rounds of writes were acknowledged.
async fn load(
    process: Process,
    enough: usize,
    end: impl FnOnce(Process) + Send + 'static,
) -> Vec<CallerRecord> {
    let mut client = Client::connect(process.address("grpc")).await;
    let load = Arc::new(Load::default());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let product = client.create(CreateListingRequest { quantity: 1_000, ..a_product() }).await.id;
        let (client, load) = (client.clone(), Arc::clone(&load));
        let name = format!("order-{product}-{caller}");
        callers.spawn(write_until_disconnected(client, name, product, load));
    }
    load.reach(enough).await;
    tokio::task::spawn_blocking(move || end(process)).await.unwrap();
    load.end();
    callers.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_no_write_and_applies_none_twice() {
    let store = TestDatabase::new();
    for round in 0..rounds("LISTINGS_KILL_ROUNDS") {
        // Rounds end at different moments.
        let enough = if round % 2 == 0 { 1 + round % 12 } else { 40 + (round * 7_919) % 600 };
        let records = load(started(&store), enough, Process::kill).await;
        let process = started(&store);
        let mut client = Client::connect(process.address("grpc")).await;
        for record in &records {
            check(&mut client, record, &store).await;
        }
        check_stats(&store);
        drop(client);
        process.kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_under_load_drains_and_exits_0() {
    let store = TestDatabase::new();
    let records = load(started(&store), 100, |process| assert!(process.terminate().success())).await;
    let process = started(&store);
    let mut client = Client::connect(process.address("grpc")).await;
    for record in &records {
        check(&mut client, record, &store).await;
    }
    check_stats(&store);
}

/// Requests whose bodies are complete only after the signal are carried out: the store is closed after them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_finishes_requests_over_http_and_keeps_their_views() {
    let store = TestDatabase::new();
    let process = started(&store);
    let (http, admin) = (process.address("http"), process.admin());
    let created = process.client().post(BASE, BIKE).await;
    assert_eq!(created.0.as_u16(), 201, "{created:?}");
    let mut requests = Vec::new();
    for (path, body, status) in [(BASE, BIKE, "201"), (&format!("{BASE}/products/1/views"), "{}", "204")] {
        let head = format!("POST {path} HTTP/1.1\r\nhost: t\r\ncontent-length: {}\r\n\r\n", body.len());
        requests.push((connect_and_send(http, &head).await, body, status));
    }
    testkit::until("both are in progress", async || admin.metric("listings_in_flight").await == 2.0).await;
    let ended = tokio::task::spawn_blocking(move || process.terminate());
    testkit::until("it drains", async || admin.get("/readyz").await.0.as_u16() == 503).await;
    for (connection, body, status) in &mut requests {
        connection.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
    assert!(ended.await.unwrap().success());
    assert_eq!(store.count("SELECT count(*) FROM listings"), 2);
    assert_eq!(store.count("SELECT views FROM listing_counters WHERE listing_id = 1"), 1);
}
