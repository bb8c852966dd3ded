//! The real binary under load, ended at a moment nobody chose: what was acknowledged is there, and once.
//!
//! `LISTINGS_KILL_ROUNDS` sets how many rounds are run (3 when unset).

use crate::home::Home;
use crate::process::Process;
use crate::support::{Client, a_product};
use listings::proto::{AddToFavoritesRequest, CreateListingRequest, DecrementStockRequest, StockItem};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::task::JoinSet;

const CALLERS: usize = 8;

fn rounds() -> usize {
    std::env::var("LISTINGS_KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

/// What the tasks of a load share.
#[derive(Default)]
struct Load {
    acknowledged: AtomicUsize,
    is_over: AtomicBool,
}

/// What one caller was told.
#[derive(Debug, Default)]
struct Told {
    moved: i64,
    orders: Vec<String>,
    marks: i64,
    /// Whose answers never came: any of them may have been done.
    in_doubt: (i64, Option<String>, i64),
}

async fn write_until_cut(mut client: Client, (caller, product): (String, i64), load: Arc<Load>) -> Told {
    let mut told = Told::default();
    for number in 0_i64.. {
        if load.is_over.load(Ordering::Relaxed) {
            break;
        }
        match client.move_stock(product, ("in", 2)).await {
            Ok(_) => told.moved += 1,
            Err(_cut) => {
                told.in_doubt.0 = 1;
                break;
            }
        }
        let order = format!("{caller}-{number}");
        let item = StockItem { product_id: product, variant_id: None, quantity: 1 };
        let asked = DecrementStockRequest { items: vec![item], order_id: Some(order.clone()) };
        match client.rpc.decrement_stock(asked).await {
            Ok(answer) => {
                assert!(answer.into_inner().success);
                told.orders.push(order);
            }
            Err(_cut) => {
                told.in_doubt.1 = Some(order);
                break;
            }
        }
        let user_id = 1_000 + number;
        match client.rpc.add_to_favorites(AddToFavoritesRequest { user_id, listing_id: product }).await {
            Ok(_) => told.marks += 1,
            Err(_cut) => {
                told.in_doubt.2 = 1;
                break;
            }
        }
        load.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
    told
}

/// Asks again what is in doubt, which must not be done twice, then compares with what the service holds.
async fn check(client: &mut Client, (product, told): (i64, &Told), home: &Home) {
    let before = i64::from(client.product(product).await.unwrap().stock_quantity);
    if let Some(order) = &told.in_doubt.1 {
        let item = StockItem { product_id: product, variant_id: None, quantity: 1 };
        let asked = DecrementStockRequest { items: vec![item], order_id: Some(order.clone()) };
        assert!(client.rpc.decrement_stock(asked).await.unwrap().into_inner().success);
    }
    let orders = told.orders.len() as i64 + i64::from(told.in_doubt.1.is_some());
    let product_now = client.product(product).await.unwrap();
    assert!(i64::from(product_now.stock_quantity) <= before);
    assert_eq!(i64::from(product_now.sold_count), orders, "each order counts once");
    let moved = (i64::from(product_now.stock_quantity) + orders - 1_000) / 2;
    assert!((told.moved..=told.moved + told.in_doubt.0).contains(&moved), "{moved} of {told:?}");
    let marks = home.count(&format!("SELECT count(*) FROM listing_favorites WHERE listing_id = {product}"));
    assert!((told.marks..=told.marks + told.in_doubt.2).contains(&marks), "{marks} of {told:?}");
}

/// The kept sums are those of the rows.
fn check_sums(home: &Home) {
    let rows = "SELECT sum(price_hundredths * quantity) FROM listings WHERE deleted_at IS NULL";
    let kept = match crate::STORE {
        crate::home::Kind::Sqlite => "SELECT sum(CAST(value_hundredths AS INTEGER)) FROM storefront_stats",
        crate::home::Kind::Postgres => "SELECT sum(value_hundredths) FROM storefront_stats",
    };
    assert_eq!(home.count(rows), home.count(kept));
    let (rows, kept) = ("SELECT count(*) FROM listings", "SELECT sum(listings) FROM category_counts");
    assert_eq!(home.count(rows), home.count(kept));
    let twice = "SELECT count(*) - count(DISTINCT id) FROM listings";
    assert_eq!(home.count(twice), 0);
}

async fn load(
    process: Process,
    enough: usize,
    end: impl FnOnce(Process) + Send + 'static,
) -> Vec<(i64, Told)> {
    let mut client = Client::connect(process.addresses.grpc).await;
    let load = Arc::new(Load::default());
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let product = client.create(CreateListingRequest { quantity: 1_000, ..a_product() }).await.id;
        let (client, load) = (client.clone(), Arc::clone(&load));
        let name = format!("order-{product}-{caller}");
        callers.spawn(async move { (product, write_until_cut(client, (name, product), load).await) });
    }
    while load.acknowledged.load(Ordering::Relaxed) < enough {
        tokio::task::yield_now().await;
    }
    tokio::task::spawn_blocking(move || end(process)).await.unwrap();
    load.is_over.store(true, Ordering::Relaxed);
    callers.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_under_load_loses_nothing_and_doubles_nothing() {
    let home = Home::new();
    for round in 0..rounds() {
        // Rounds end at different moments.
        let enough = if round % 2 == 0 { 1 + round % 12 } else { 40 + (round * 7_919) % 600 };
        let told = load(Process::start(&home), enough, Process::kill).await;
        let process = Process::start(&home);
        let mut client = Client::connect(process.addresses.grpc).await;
        for (product, told) in &told {
            check(&mut client, (*product, told), &home).await;
        }
        check_sums(&home);
        drop(client);
        process.kill();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sigterm_under_load_drains_and_exits_0() {
    let home = Home::new();
    let told = load(Process::start(&home), 100, |process| assert!(process.terminate().success())).await;
    let process = Process::start(&home);
    let mut client = Client::connect(process.addresses.grpc).await;
    for (product, told) in &told {
        check(&mut client, (*product, told), &home).await;
    }
    check_sums(&home);
}
