//! A server in the test process, and a client.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::HeaderValue;
use axum::http::response::Parts;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use kit::process::Service;
use listings::proto::listings_service_client::ListingsServiceClient;
use listings::proto::{
    CreateListingRequest, GetProductRequest, GetProductStatsRequest, ListListingsRequest, Listing, Product,
    ProductStats, RecordInventoryMovementRequest, SearchListingsRequest,
};
use listings::server::{Running, start};
use serde_json::Value;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use crate::test_store::TestStore;

/// A server in the test process, with its own ports and store.
pub(crate) struct Server {
    pub(crate) running: Running,
    pub(crate) store: TestStore,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_in(TestStore::new(), settings).await
    }

    /// A server that is ready, on an existing store.
    pub(crate) async fn start_in(store: TestStore, settings: &[(&str, &str)]) -> Self {
        let running = start(&store.settings(settings)).await.unwrap();
        running.ready().await;
        Self { running, store }
    }

    /// Stops the server and returns its store.
    pub(crate) async fn stop(self) -> TestStore {
        self.running.stop().await;
        self.store
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.running.addresses.grpc).await
    }

    /// The status and the JSON of a response of the HTTP API.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let request = HttpRequest { method, path, token: None, body };
        let (head, answer) = request.send(self.running.addresses.http).await;
        (head.status.as_u16(), answer)
    }

    /// A response of the HTTP port.
    pub(crate) async fn get(&self, path: &str) -> (StatusCode, String) {
        get(self.running.addresses.http, path).await
    }

    /// A number read directly from the database.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.store.count(sql)
    }
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> (StatusCode, String) {
    let (head, body) = exchange(address, Request::get(path).body(Body::empty()).unwrap()).await;
    (head.status, body)
}

/// The head and the body of the response to a request.
pub(crate) async fn exchange(address: SocketAddr, mut request: Request<Body>) -> (Parts, String) {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    request.headers_mut().insert("host", HeaderValue::from_static("test"));
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let bytes = to_bytes(Body::new(body), usize::MAX).await.unwrap();
    (head, String::from_utf8(bytes.to_vec()).unwrap())
}

/// A request of the HTTP API; `token` is the value of the header `authorization`.
#[derive(Clone, Copy)]
pub(crate) struct HttpRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) token: Option<&'a str>,
    pub(crate) body: &'a str,
}

impl HttpRequest<'_> {
    /// The head of the response, and its JSON; null for none, a text for anything else.
    pub(crate) async fn send(self, address: SocketAddr) -> (Parts, Value) {
        let mut request = Request::builder().method(self.method).uri(self.path);
        if let Some(token) = self.token {
            request = request.header("authorization", token);
        }
        let request = request.body(Body::from(self.body.to_owned())).unwrap();
        let (head, body) = exchange(address, request).await;
        let is_json = head.headers.get("content-type").is_some_and(|value| value == "application/json");
        let answer = match is_json {
            true => serde_json::from_str(&body).expect(&body),
            false if body.is_empty() => Value::Null,
            false => Value::String(body),
        };
        (head, answer)
    }
}

/// Longer than any condition takes on a busy machine.
const CONDITION_TIMEOUT: Duration = Duration::from_secs(30);

/// Polls a condition until it holds.
pub(crate) async fn until(condition: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !holds().await {
        assert!(started.elapsed() < CONDITION_TIMEOUT, "timed out: {condition}");
        ticks.tick().await;
    }
}

pub(crate) async fn connect(address: SocketAddr) -> Channel {
    Endpoint::new(format!("http://{address}")).unwrap().connect().await.unwrap()
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

/// The status code of an error.
pub(crate) fn code<T: std::fmt::Debug>(answer: Result<T, Status>) -> Code {
    answer.unwrap_err().code()
}
