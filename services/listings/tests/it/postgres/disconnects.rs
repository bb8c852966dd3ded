//! Callers that disconnect during a call, or whose deadline passes.

use std::time::Duration;

use listings::proto::IsFavoriteRequest;
use testkit::data::TestDatabase;
use testkit::until;
use tokio::task::JoinHandle;
use tonic::{Code, Request, Status};

use crate::postgres::late::SlowProxy;
use crate::postgres::table_lock::{TableLock, waiting};
use crate::support::{Client, Server, a_product};

/// A server whose statement timeout is longer than a test, so that it does not end the statements.
async fn serve() -> Server {
    Server::start_in(TestDatabase::postgres(), &[("DB_STATEMENT_TIMEOUT_MS", "60000")]).await
}

async fn idle(server: &Server) -> bool {
    server.admin().text("/metrics").await.contains("listings_db_connections_idle 3\n")
}

/// Asserts that the database ends the query of a caller that `disconnect` has disconnected, and not because of a
/// deadline.
async fn assert_query_is_ended(disconnect: impl AsyncFnOnce(&Server) -> Call) {
    let server = serve().await;
    let lock = TableLock::acquire(&server.store, "listing_favorites").await;
    let _call = disconnect(&server).await;
    until("the database has ended the query", async || waiting(&server.store) == 0).await;
    lock.release().await;
    until("all connections are free", async || idle(&server).await).await;
    let metrics = server.admin().text("/metrics").await;
    assert!(!metrics.contains("listings_timeouts_total{"), "{metrics}");
    let mut client = server.client().await;
    for _ in 0..6 {
        assert!(!client.rpc.is_favorite(IS_FAVORITE).await.unwrap().into_inner().is_favorite);
    }
}

const IS_FAVORITE: IsFavoriteRequest = IsFavoriteRequest { user_id: 7, listing_id: 1 };

struct Call(JoinHandle<Result<(), Status>>);

/// Starts a call; returns when its query waits in the database.
async fn start_call(server: &Server, mut client: Client) -> Call {
    let call = tokio::spawn(async move { client.rpc.is_favorite(IS_FAVORITE).await.map(drop) });
    until("the query waits", async || waiting(&server.store) == 1).await;
    Call(call)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_query_of_a_disconnected_caller_is_ended() {
    assert_query_is_ended(async |server| {
        let call = start_call(server, server.client().await).await;
        call.0.abort();
        call
    })
    .await;
    assert_query_is_ended(async |server| {
        let proxy = SlowProxy::to(server.running.addresses.grpc).await;
        let call = start_call(server, Client::connect(proxy.address).await).await;
        drop(proxy);
        call
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_queued_write_is_carried_out_once_although_its_caller_disconnected() {
    let server = serve().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let lock = TableLock::acquire(&server.store, "listings").await;
    let call = tokio::spawn(async move { client.move_stock(id, "in", 5).await });
    until("the write waits", async || waiting(&server.store) == 1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    lock.release().await;
    let mut client = server.client().await;
    until("the write is carried out", async || client.product(id).await.unwrap().stock_quantity == 15).await;
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_behind_another_is_dropped_when_its_caller_disconnects() {
    let server = serve().await;
    let shows = async |metric: &str| server.admin().text("/metrics").await.contains(metric);
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let lock = TableLock::acquire(&server.store, "listings").await;
    let mut other = client.clone();
    let begun = tokio::spawn(async move { other.move_stock(id, "in", 5).await });
    until("a write waits for the lock", async || waiting(&server.store) == 1).await;
    let mut other = client.clone();
    let queued = tokio::spawn(async move { other.move_stock(id, "in", 100).await });
    until("another is queued", async || shows("listings_store_writes_waiting 2\n").await).await;
    queued.abort();
    until("its call has ended", async || shows("listings_in_flight 1\n").await).await;
    lock.release().await;
    assert_eq!(begun.await.unwrap().unwrap(), (10, 15));
    assert_eq!(client.move_stock(id, "in", 1).await.unwrap(), (15, 16));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_own_deadline_ends_a_call_and_its_query() {
    let server = serve().await;
    let lock = TableLock::acquire(&server.store, "listing_favorites").await;
    let mut client = server.client().await;
    let mut request = Request::new(IS_FAVORITE);
    request.set_timeout(Duration::from_millis(20));
    let code = client.rpc.is_favorite(request).await.unwrap_err().code();
    assert!(matches!(code, Code::DeadlineExceeded | Code::Cancelled), "{code:?}");
    until("the database has ended the query", async || waiting(&server.store) == 0).await;
    lock.release().await;
}
