//! A server in this process, and the client that tests speak to it with.

use crate::home::Home;
use axum::body::{Body, to_bytes};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use listings::proto::listings_service_client::ListingsServiceClient;
use listings::proto::{
    CreateListingRequest, GetProductRequest, GetProductStatsRequest, ListListingsRequest, Listing, Product,
    ProductStats, RecordInventoryMovementRequest, SearchListingsRequest,
};
use listings::server::{Running, start};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

/// A server in this process on ports and a database of its own.
pub(crate) struct Server {
    pub(crate) running: Running,
    pub(crate) home: Home,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_in(Home::new(), settings).await
    }

    /// A server on the database of an earlier one, ready.
    pub(crate) async fn start_in(home: Home, settings: &[(&str, &str)]) -> Self {
        let running = start(&home.settings(settings)).await.unwrap();
        running.ready().await;
        Self { running, home }
    }

    /// Stops it and keeps its database.
    pub(crate) async fn stop(self) -> Home {
        self.running.stop().await;
        self.home
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.running.addresses.grpc).await
    }

    /// What the operators' port answers.
    pub(crate) async fn get(&self, path: &str) -> (StatusCode, String) {
        get(self.running.addresses.http, path).await
    }

    /// A number from the database itself.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.home.count(sql)
    }
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> (StatusCode, String) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get(path).header("host", "test").body(Body::empty()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    let status = response.status();
    let bytes = to_bytes(Body::new(response.into_body()), usize::MAX).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

/// Longer than any condition takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Looks at a condition until it holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    let mut looks = tokio::time::interval(Duration::from_millis(20));
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !holds().await {
        assert!(begun.elapsed() < PATIENCE, "not in time: {what}");
        looks.tick().await;
    }
}

pub(crate) async fn connect(address: SocketAddr) -> Channel {
    Endpoint::new(format!("http://{address}")).unwrap().connect().await.unwrap()
}

/// A client with words for what tests do often.
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

    pub(crate) async fn create(&mut self, asked: CreateListingRequest) -> Listing {
        self.rpc.create_listing(asked).await.unwrap().into_inner().listing.unwrap()
    }

    pub(crate) async fn product(&mut self, product_id: i64) -> Result<Product, Status> {
        let asked = GetProductRequest { product_id, ..GetProductRequest::default() };
        Ok(self.rpc.get_product(asked).await?.into_inner().product.unwrap())
    }

    pub(crate) async fn stats(&mut self, storefront_id: i64) -> ProductStats {
        let asked = GetProductStatsRequest { storefront_id };
        self.rpc.get_product_stats(asked).await.unwrap().into_inner().stats.unwrap()
    }

    /// Stock before and after.
    pub(crate) async fn move_stock(
        &mut self,
        product_id: i64,
        (movement_type, quantity): (&str, i32),
    ) -> Result<(i32, i32), Status> {
        let asked = RecordInventoryMovementRequest {
            storefront_id: 3,
            product_id,
            movement_type: movement_type.to_owned(),
            quantity,
            user_id: 7,
            ..RecordInventoryMovementRequest::default()
        };
        let moved = self.rpc.record_inventory_movement(asked).await?.into_inner();
        assert!(moved.success);
        Ok((moved.stock_before, moved.stock_after))
    }

    /// Ids and the total.
    pub(crate) async fn search(&mut self, query: &str) -> (Vec<i64>, i32) {
        let asked = SearchListingsRequest { query: query.to_owned(), ..SearchListingsRequest::default() };
        let found = self.rpc.search_listings(asked).await.unwrap().into_inner();
        (found.listings.iter().map(|listing| listing.id).collect(), found.total)
    }

    /// Ids and the total.
    pub(crate) async fn list(&mut self, asked: ListListingsRequest) -> (Vec<i64>, i32) {
        let found = self.rpc.list_listings(asked).await.unwrap().into_inner();
        (found.listings.iter().map(|listing| listing.id).collect(), found.total)
    }
}

/// The code of a refusal.
pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, Status>) -> Code {
    answer.unwrap_err().code()
}
