//! A server in the test process, and a client.

use std::net::SocketAddr;

use kit::process::Service;
use listings::proto::listings_service_client::ListingsServiceClient;
use listings::proto::{
    CreateListingRequest, GetProductRequest, GetProductStatsRequest, ListListingsRequest, Listing, Product,
    ProductStats, RecordInventoryMovementRequest, SearchListingsRequest,
};
use listings::server::{Running, start};
use serde_json::Value;
use testkit::grpc::connect;
use testkit::http::{self, request};
use tonic::Status;
use tonic::transport::Channel;

use testkit::data::TestDatabase;

/// A server in the test process, with its own ports and store.
pub(crate) struct Server {
    pub(crate) running: Running,
    pub(crate) store: TestDatabase,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_in(TestDatabase::new(), settings).await
    }

    /// A server that is ready, on an existing store.
    pub(crate) async fn start_in(store: TestDatabase, settings: &[(&str, &str)]) -> Self {
        let running = start(&crate::database::settings(&store, settings)).await.unwrap();
        running.ready().await;
        Self { running, store }
    }

    /// Stops the server and returns its store.
    pub(crate) async fn stop(self) -> TestDatabase {
        self.running.stop().await;
        self.store
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.running.addresses.grpc).await
    }

    pub(crate) fn http(&self) -> http::Client {
        http::Client::new(self.running.addresses.http)
    }

    pub(crate) fn admin(&self) -> http::Client {
        http::Client::new(self.running.addresses.admin)
    }

    /// The status and the JSON of a response of the HTTP API.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let (status, answer) = self.http().exchange(request(method, path, &[], body)).await.status_and_json();
        (status.as_u16(), answer)
    }

    /// A number read directly from the database.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.store.count(sql)
    }
}

/// A client with shortcuts for frequent calls.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) rpc: ListingsServiceClient<Channel>,
}

/// A listing of user 7 in storefront 3.
pub(crate) fn a_product() -> CreateListingRequest {
    CreateListingRequest {
        user_id: 7,
        storefront_id: Some(3),
        title: "Red bike".to_owned(),
        description: Some("Nearly new".to_owned()),
        price: 19.99,
        category_id: 20,
        quantity: 10,
        ..CreateListingRequest::default()
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { rpc: ListingsServiceClient::new(connect(address).await) }
    }

    pub(crate) async fn create(&mut self, request: CreateListingRequest) -> Listing {
        self.rpc.create_listing(request).await.unwrap().into_inner().listing.unwrap()
    }

    pub(crate) async fn product(&mut self, product_id: i64) -> Result<Product, Status> {
        let request = GetProductRequest { product_id, ..GetProductRequest::default() };
        Ok(self.rpc.get_product(request).await?.into_inner().product.unwrap())
    }

    pub(crate) async fn stats(&mut self, storefront_id: i64) -> ProductStats {
        let request = GetProductStatsRequest { storefront_id };
        self.rpc.get_product_stats(request).await.unwrap().into_inner().stats.unwrap()
    }

    /// Moves stock; returns it before and after.
    pub(crate) async fn move_stock(
        &mut self,
        product_id: i64,
        movement_type: &str,
        quantity: i32,
    ) -> Result<(i32, i32), Status> {
        let request = RecordInventoryMovementRequest {
            storefront_id: 3,
            product_id,
            movement_type: movement_type.to_owned(),
            quantity,
            user_id: 7,
            ..RecordInventoryMovementRequest::default()
        };
        let moved = self.rpc.record_inventory_movement(request).await?.into_inner();
        assert!(moved.success);
        Ok((moved.stock_before, moved.stock_after))
    }

    /// The ids found, and the total.
    pub(crate) async fn search(&mut self, query: &str) -> (Vec<i64>, i32) {
        let request = SearchListingsRequest { query: query.to_owned(), ..SearchListingsRequest::default() };
        let found = self.rpc.search_listings(request).await.unwrap().into_inner();
        (found.listings.iter().map(|listing| listing.id).collect(), found.total)
    }

    /// The ids found, and the total.
    pub(crate) async fn list(&mut self, request: ListListingsRequest) -> (Vec<i64>, i32) {
        let found = self.rpc.list_listings(request).await.unwrap().into_inner();
        (found.listings.iter().map(|listing| listing.id).collect(), found.total)
    }
}
