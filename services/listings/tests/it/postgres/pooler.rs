//! PgBouncer between the service and PostgreSQL.

use listings::proto::SearchListingsRequest;
use testkit::data::TestDatabase;
use testkit::pgbouncer::PgBouncer;
use tonic::Code;

use crate::postgres::table_lock::TableLock;
use crate::support::{Server, a_product};

/// The settings of a session, among them its limit on statements, reach the server through the pooler.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_works_through_a_pooler_of_sessions_with_its_limits() {
    let store = TestDatabase::postgres();
    let env = store.env();
    let variable = |name: &str| env.iter().find(|(key, _)| *key == name).unwrap().1.as_str();
    let pooler = PgBouncer::start(variable("DB_HOST"), variable("DB_PORT"), variable("DB_USER")).await;
    let (host, port) = (pooler.address.ip().to_string(), pooler.address.port().to_string());
    let server = Server::start_in(store, &[("DB_HOST", &host), ("DB_PORT", &port)]).await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    assert_eq!(client.move_stock(id, "out", 4).await.unwrap(), (10, 6));
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 6);
    let lock = TableLock::acquire(&server.store, "listing_words").await;
    let search = SearchListingsRequest { query: "bike".to_owned(), ..SearchListingsRequest::default() };
    let ended = client.rpc.search_listings(search).await.unwrap_err();
    assert_eq!(ended.code(), Code::DeadlineExceeded, "{ended}");
    lock.release().await;
    server.stop().await;
}
