//! A server in this process, and the HTTP and gRPC clients of tests.

use std::net::SocketAddr;

use axum::body::Body;
use challenge::proto::account::UserLoggedIn;
use challenge::proto::account::user_authentication_user_logged_in_service_client::UserAuthenticationUserLoggedInServiceClient as LoginClient;
use challenge::proto::service::service_client::ServiceClient;
use challenge::proto::statistic::statistic_stat_item_updated_service_client::StatisticStatItemUpdatedServiceClient as StatisticClient;
use challenge::proto::statistic::{StatItem, StatItemUpdated};
use challenge::role::Role;
use challenge::server::{Running, start};
use hyper::{Method, Request, StatusCode};
use kit::process::Service;
use serde_json::Value;
use testkit::grpc::connect;
use testkit::http::{Client, Lost, request};
use tonic::transport::Channel;

use testkit::data::TestDatabase;

/// A server in this process on ports and a database of its own.
pub(crate) struct Server {
    pub(crate) running: Running,
    pub(crate) database: TestDatabase,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_in(TestDatabase::new(), settings).await
    }

    /// A server on the database of an earlier one, ready.
    pub(crate) async fn start_in(database: TestDatabase, settings: &[(&str, &str)]) -> Self {
        let server = Self::start_unready_in(database, settings).await;
        server.running.ready().await;
        server
    }

    /// A server that may still wait for the keys of bearer tokens.
    pub(crate) async fn start_unready_in(database: TestDatabase, settings: &[(&str, &str)]) -> Self {
        let running = start(&crate::database::settings(&database, settings), Role::All).await.unwrap();
        Self { running, database }
    }

    /// Stops it and keeps its database.
    pub(crate) async fn stop(self) -> TestDatabase {
        self.running.stop().await;
        self.database
    }

    pub(crate) fn player(&self, user: &str) -> Player {
        Player::new(self.running.addresses.http.unwrap(), user)
    }

    /// A user's gRPC client; an empty user sends no identity.
    pub(crate) async fn caller(&self, user: &str) -> Caller {
        Caller {
            client: ServiceClient::new(connect(self.running.addresses.grpc.unwrap()).await),
            user: user.to_owned(),
        }
    }

    pub(crate) async fn publisher(&self) -> Publisher {
        Publisher::connect(self.running.addresses.events.unwrap()).await
    }

    pub(crate) fn http(&self) -> Client {
        Client::new(self.running.addresses.http.unwrap())
    }

    pub(crate) fn admin(&self) -> Client {
        Client::new(self.running.addresses.admin)
    }

    /// The admin port's metrics.
    pub(crate) async fn metrics(&self) -> String {
        self.admin().text("/metrics").await
    }

    /// The number that a query returns.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.database.count(sql)
    }
}

/// One user's HTTP client.
#[derive(Clone)]
pub(crate) struct Player {
    pub(crate) client: Client,
    user: String,
}

impl Player {
    pub(crate) fn new(address: SocketAddr, user: &str) -> Self {
        Self { client: Client::new(address), user: user.to_owned() }
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(Method::GET, path, "").await
    }

    pub(crate) async fn initialize(&self) -> Value {
        let (status, answer) = self.send(Method::POST, "/challenge/v1/challenges/initialize", "{}").await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer
    }

    /// The goal as the list shows it.
    pub(crate) async fn goal(&self, goal_id: &str) -> Value {
        let (status, list) = self.get("/challenge/v1/challenges").await;
        assert_eq!(status, StatusCode::OK);
        let goals =
            list["challenges"].as_array().unwrap().iter().flat_map(|c| c["goals"].as_array().unwrap());
        goals.into_iter().find(|goal| goal["goalId"] == goal_id).unwrap().clone()
    }

    /// `goal-001-02` lies in `challenge-001`.
    pub(crate) async fn set_active(&self, goal_id: &str, body: &str) -> (StatusCode, Value) {
        let path = format!("/challenge/v1/challenges/challenge-{}/goals/{goal_id}/active", &goal_id[5..8]);
        self.send(Method::PUT, &path, body).await
    }

    pub(crate) async fn claim(&self, goal_id: &str) -> (StatusCode, Value) {
        let path = format!("/challenge/v1/challenges/challenge-{}/goals/{goal_id}/claim", &goal_id[5..8]);
        self.send(Method::POST, &path, "{}").await
    }

    /// A claim during which the server may end.
    pub(crate) async fn try_claim(&self, goal_id: &str) -> Result<(StatusCode, Value), Lost> {
        let path = format!("/challenge/v1/challenges/challenge-{}/goals/{goal_id}/claim", &goal_id[5..8]);
        let response = self.client.try_exchange(self.request(Method::POST, &path, "")).await?;
        Ok(response.status_and_json())
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: impl AsRef<[u8]>,
    ) -> (StatusCode, Value) {
        self.client.exchange(self.request(method, path, body)).await.status_and_json()
    }

    /// A request of this user; without an identity when its name is empty.
    pub(crate) fn request(&self, method: Method, path: &str, body: impl AsRef<[u8]>) -> Request<Body> {
        let identity = [("x-mock-user-id", self.user.as_str())];
        request(method, path, if self.user.is_empty() { &[] } else { &identity }, body)
    }
}

/// One user's gRPC client.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: ServiceClient<Channel>,
    user: String,
}

impl Caller {
    /// A call of this user.
    pub(crate) fn call<T>(&self, message: T) -> tonic::Request<T> {
        let mut request = tonic::Request::new(message);
        if !self.user.is_empty() {
            request.metadata_mut().insert("x-mock-user-id", self.user.parse().unwrap());
        }
        request
    }
}

/// Sends events.
#[derive(Clone)]
pub(crate) struct Publisher {
    pub(crate) login: LoginClient<Channel>,
    pub(crate) statistic: StatisticClient<Channel>,
}

impl Publisher {
    pub(crate) async fn connect(events: SocketAddr) -> Self {
        let channel = connect(events).await;
        Self { login: LoginClient::new(channel.clone()), statistic: StatisticClient::new(channel) }
    }

    pub(crate) async fn log_in(&mut self, user: &str, id: &str) -> Result<(), tonic::Status> {
        let event = UserLoggedIn {
            id: id.to_owned(),
            user_id: user.to_owned(),
            namespace: "accelbyte".to_owned(),
            ..UserLoggedIn::default()
        };
        self.login.on_message(event).await.map(|_| ())
    }

    pub(crate) async fn update_statistic(
        &mut self,
        user: &str,
        stat_code: &str,
        latest: f64,
    ) -> Result<(), tonic::Status> {
        self.statistic.on_message(statistic(user, stat_code, latest)).await.map(|_| ())
    }
}

/// A statistic event without an id.
pub(crate) fn statistic(user: &str, stat_code: &str, latest_value: f64) -> StatItemUpdated {
    StatItemUpdated {
        user_id: user.to_owned(),
        namespace: "accelbyte".to_owned(),
        payload: Some(StatItem { stat_code: stat_code.to_owned(), latest_value, ..StatItem::default() }),
        ..StatItemUpdated::default()
    }
}
