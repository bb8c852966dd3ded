//! Lists and searches in the database: bounded in time, and for each caller in number.

use listings::proto::{ListListingsRequest, SearchListingsRequest};
use testkit::data::TestDatabase;
use testkit::until;
use tonic::Code;

use crate::postgres::table_lock::{TableLock, waiting};
use crate::support::{Server, a_product};
use crate::tokens::AuthenticatedServer;

fn for_word(word: &str) -> SearchListingsRequest {
    SearchListingsRequest { query: word.to_owned(), ..SearchListingsRequest::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_search_that_takes_too_long_is_ended_and_says_how_to_narrow_it() {
    let server = Server::start_in(TestDatabase::postgres(), &[]).await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let lock = TableLock::acquire(&server.store, "listing_words").await;
    let ended = client.rpc.search_listings(for_word("bike")).await.unwrap_err();
    assert_eq!(ended.code(), Code::DeadlineExceeded, "{ended}");
    assert!(ended.message().contains("narrow it by a category"), "{ended}");
    let (status, answer) = server.call("GET", "/api/v1/listings/search?query=bike", "").await;
    assert_eq!((status, answer["error"].as_str()), (504, Some(ended.message())));
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 10, "reads by key go on");
    lock.release().await;
    assert_eq!(client.search("bike").await, (vec![id], 1));
}

/// Without the bound, the searches of one caller would take both connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn searches_of_one_caller_leave_connections_for_others() {
    let settings = [("DB_SEARCH_READERS", "2")];
    let server = AuthenticatedServer::start_in(TestDatabase::postgres(), &settings).await;
    let id = server.product().await;
    let lock = TableLock::acquire(&server.server.store, "listing_words").await;
    let mut calls = tokio::task::JoinSet::new();
    for word in ["bike", "red", "new"] {
        let mut rpc = server.client.rpc.clone();
        calls.spawn(async move { rpc.search_listings(for_word(word)).await.unwrap_err().code() });
    }
    let admin = server.server.admin();
    until("all are in progress", async || admin.metric("listings_in_flight").await == 3.0).await;
    until("one waits in the database", async || waiting(&server.server.store) > 0).await;
    assert!(admin.metric("listings_db_search_connections_idle").await >= 1.0);
    let mut rpc = server.client.rpc.clone();
    let list = server.request_by("8", ListListingsRequest { category_id: Some(20), ..Default::default() });
    assert_eq!(rpc.list_listings(list).await.unwrap().into_inner().listings[0].id, id);
    lock.release().await;
    calls.abort_all();
}
