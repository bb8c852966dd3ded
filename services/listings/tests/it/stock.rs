//! Stock: no movement is lost, no unit is sold twice, and the statistics follow.

use listings::proto::{
    BatchUpdateStockRequest, CheckStockAvailabilityRequest, CreateListingRequest, DecrementStockRequest,
    IncrementProductViewsRequest, RollbackStockRequest, StockItem, StockUpdateItem,
};
use testkit::grpc::code;
use tokio::task::JoinSet;
use tonic::Code;

use crate::support::{Client, Server, a_product};

fn item(product_id: i64, quantity: i32) -> StockItem {
    StockItem { product_id, variant_id: None, quantity }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_concurrent_movements_lose_nothing() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(CreateListingRequest { quantity: 5_000, ..a_product() }).await.id;
    let mut movements = JoinSet::new();
    for number in 0..1_000 {
        let mut client = client.clone();
        let (direction, quantity) = if number % 2 == 0 { ("in", 3) } else { ("out", 5) };
        movements.spawn(async move { client.move_stock(id, direction, quantity).await.unwrap() });
    }
    let moved = movements.join_all().await;
    assert!(moved.iter().all(|(before, after)| [3, -5].contains(&(after - before))));
    let expect = 5_000 + 500 * 3 - 500 * 5;
    assert_eq!(client.product(id).await.unwrap().stock_quantity, expect);
    assert_eq!(server.count(&format!("SELECT quantity FROM listings WHERE id = {id}")), i64::from(expect));
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 1_000);
    let sum = "SELECT sum(stock_after - stock_before) FROM inventory_movements";
    assert_eq!(server.count(sum), i64::from(expect) - 5_000);
    assert!((client.stats(3).await.total_value - 19.99 * f64::from(expect)).abs() < 1e-6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_orders_sell_each_unit_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.create(CreateListingRequest { quantity: 30, ..a_product() }).await.id);
    }
    let mut orders = JoinSet::new();
    for number in 0..200_usize {
        let mut client = client.clone();
        // Each order takes two of the three products, in any order: locks in that order would deadlock.
        let items = vec![item(ids[number % 3], 1), item(ids[(number + 1 + number % 2) % 3], 1)];
        let request = DecrementStockRequest { items, order_id: Some(format!("order-{number}")) };
        orders.spawn(async move { client.rpc.decrement_stock(request).await.unwrap().into_inner().success });
    }
    let taken = orders.join_all().await.into_iter().filter(|success| *success).count();
    assert!((30..=45).contains(&taken), "{taken}");
    let left = server.count("SELECT sum(quantity) FROM listings");
    assert_eq!(left, 90 - 2 * taken as i64);
    assert_eq!(server.count("SELECT min(quantity) FROM listings").min(0), 0);
    assert_eq!(i64::from(client.stats(3).await.total_sold), 2 * taken as i64);
}

#[tokio::test]
async fn a_repeated_order_takes_once_and_a_repeated_rollback_gives_back_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let take = || DecrementStockRequest { items: vec![item(id, 4)], order_id: Some("o-1".to_owned()) };
    let back = || RollbackStockRequest { items: vec![item(id, 4)], order_id: Some("o-1".to_owned()) };
    for _ in 0..2 {
        let taken = client.rpc.decrement_stock(take()).await.unwrap().into_inner();
        assert_eq!((taken.results[0].stock_before, taken.results[0].stock_after), (10, 6));
        assert_eq!(client.product(id).await.unwrap().stock_quantity, 6);
    }
    for _ in 0..2 {
        assert!(client.rpc.rollback_stock(back()).await.unwrap().into_inner().success);
        let product = client.product(id).await.unwrap();
        assert_eq!((product.stock_quantity, product.sold_count), (10, 0));
    }
    let refused = client.rpc.decrement_stock(take()).await.unwrap().into_inner();
    assert!(!refused.success && refused.results[0].error.as_deref() == Some("the order was rolled back"));
    let unknown = RollbackStockRequest { order_id: Some("o-2".to_owned()), ..back() };
    let refused = client.rpc.rollback_stock(unknown).await.unwrap().into_inner();
    assert!(!refused.success && refused.results[0].error.is_some());
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 10);
}

#[tokio::test]
async fn an_order_that_exceeds_one_stock_takes_nothing() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let [plenty, few] = [client.create(a_product()).await.id, client.create(a_product()).await.id];
    client.move_stock(few, "adjustment", 1).await.unwrap();
    let request = DecrementStockRequest { items: vec![item(plenty, 2), item(few, 2)], order_id: None };
    let refused = client.rpc.decrement_stock(request).await.unwrap().into_inner();
    let error = format!("nothing was changed: product {few}: 2 requested, 1 in stock");
    assert_eq!((refused.success, refused.error), (false, Some(error)));
    let done: Vec<bool> = refused.results.iter().map(|result| result.success).collect();
    assert_eq!(done, [true, false]);
    assert_eq!(client.product(plenty).await.unwrap().stock_quantity, 10);
    let request = CheckStockAvailabilityRequest { items: vec![item(plenty, 10), item(few, 2), item(999, 1)] };
    let checked = client.rpc.check_stock_availability(request).await.unwrap().into_inner();
    let available: Vec<_> =
        checked.items.iter().map(|one| (one.available_quantity, one.is_available)).collect();
    assert_eq!((checked.all_available, available), (false, vec![(10, true), (1, false), (0, false)]));
}

#[tokio::test]
async fn a_batch_sets_valid_items_and_reports_the_others() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mine = client.create(a_product()).await.id;
    let theirs = client.create(CreateListingRequest { storefront_id: Some(4), ..a_product() }).await.id;
    let set = |product_id, quantity| StockUpdateItem { product_id, variant_id: None, quantity, reason: None };
    let request = BatchUpdateStockRequest {
        storefront_id: 3,
        items: vec![set(mine, 0), set(theirs, 5), set(999, 5)],
        reason: Some("stocktaking".to_owned()),
        user_id: 7,
    };
    let done = client.rpc.batch_update_stock(request).await.unwrap().into_inner();
    assert_eq!((done.successful_count, done.failed_count), (1, 2));
    assert_eq!((done.results[0].stock_before, done.results[0].stock_after), (10, 0));
    let stats = client.stats(3).await;
    assert_eq!((stats.out_of_stock, stats.low_stock, stats.total_value), (1, 0, 0.0));
    assert_eq!(client.product(theirs).await.unwrap().stock_quantity, 10);
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements WHERE reason = 'stocktaking'"), 1);
}

#[tokio::test]
async fn stock_never_falls_below_zero() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    assert_eq!(client.move_stock(id, "out", 10).await.unwrap(), (10, 0));
    assert_eq!(code(client.move_stock(id, "out", 1).await), Code::FailedPrecondition);
    client.move_stock(id, "adjustment", i32::MAX).await.unwrap();
    assert_eq!(code(client.move_stock(id, "in", 1).await), Code::FailedPrecondition);
    assert_eq!(client.product(id).await.unwrap().stock_quantity, i32::MAX);
}

async fn view(client: &mut Client, product_id: i64) -> Result<(), tonic::Status> {
    client.rpc.increment_product_views(IncrementProductViewsRequest { product_id }).await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_show_within_seconds_and_none_is_lost_at_shutdown() {
    let server = Server::start_with(&[("VIEWS_SHOW_WITHIN_S", "1")]).await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    for _ in 0..50 {
        view(&mut client, id).await.unwrap();
    }
    testkit::until("the views show", async || client.product(id).await.unwrap().view_count == 50).await;
    assert_eq!(code(view(&mut client, 999).await), Code::NotFound);
    let mut views = JoinSet::new();
    for _ in 0..500 {
        let mut client = client.clone();
        views.spawn(async move { view(&mut client, id).await.unwrap() });
    }
    views.join_all().await;
    drop(client);
    let store = server.stop().await;
    assert_eq!(store.count(&format!("SELECT views FROM listing_counters WHERE listing_id = {id}")), 550);
}
