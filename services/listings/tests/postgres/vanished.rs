//! Callers who go away in the middle of a call, or have no more time.

use crate::late::Late;
use crate::locked::{Locked, waiting};
use crate::support::{Client, Server, a_product, until};
use listings::proto::IsFavoriteRequest;
use std::time::Duration;
use tokio::task::JoinHandle;
use tonic::{Code, Request, Status};

/// Statements may take longer than a test waits, so that it is not their bound that ends them.
async fn serve() -> Server {
    Server::start_with(&[("DB_STATEMENT_TIMEOUT_MS", "60000")]).await
}

async fn idle(server: &Server) -> bool {
    server.get("/metrics").await.1.contains("listings_db_connections_idle 3\n")
}

/// The database has ended the query of a caller who did `go`, and it was no deadline that made it.
async fn query_is_ended(go: impl AsyncFnOnce(&Server) -> Call) {
    let server = serve().await;
    let locked = Locked::hold(&server.home, "listing_favorites").await;
    let _gone = go(&server).await;
    until("the database has ended the query", async || waiting(&server.home) == 0).await;
    locked.let_go().await;
    until("all connections are free", async || idle(&server).await).await;
    let metrics = server.get("/metrics").await.1;
    assert!(!metrics.contains("listings_timeouts_total{"), "{metrics}");
    let mut client = server.client().await;
    for _ in 0..6 {
        assert!(!client.rpc.is_favorite(ASKED).await.unwrap().into_inner().is_favorite);
    }
}

const ASKED: IsFavoriteRequest = IsFavoriteRequest { user_id: 7, listing_id: 1 };

struct Call(JoinHandle<Result<(), Status>>);

/// A call whose query has reached the database.
async fn call(server: &Server, mut client: Client) -> Call {
    let call = tokio::spawn(async move { client.rpc.is_favorite(ASKED).await.map(drop) });
    until("the query waits", async || waiting(&server.home) == 1).await;
    Call(call)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_query_of_a_caller_who_went_away_is_ended() {
    query_is_ended(async |server| {
        let call = call(server, server.client().await).await;
        call.0.abort();
        call
    })
    .await;
    query_is_ended(async |server| {
        let cable = Late::to(server.running.addresses.grpc).await;
        let call = call(server, Client::connect(cable.address).await).await;
        drop(cable);
        call
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_was_taken_in_is_done_once_although_nobody_waits() {
    let server = serve().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let locked = Locked::hold(&server.home, "listings").await;
    let call = tokio::spawn(async move { client.move_stock(id, ("in", 5)).await });
    until("the write waits", async || waiting(&server.home) == 1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    locked.let_go().await;
    let mut client = server.client().await;
    until("it is done", async || client.product(id).await.unwrap().stock_quantity == 15).await;
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callers_own_deadline_ends_a_call_and_its_query() {
    let server = serve().await;
    let locked = Locked::hold(&server.home, "listing_favorites").await;
    let mut client = server.client().await;
    let mut request = Request::new(ASKED);
    request.set_timeout(Duration::from_millis(20));
    let code = client.rpc.is_favorite(request).await.unwrap_err().code();
    assert!(matches!(code, Code::DeadlineExceeded | Code::Cancelled), "{code:?}");
    until("the database has ended the query", async || waiting(&server.home) == 0).await;
    locked.let_go().await;
}
