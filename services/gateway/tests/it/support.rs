//! A server in this process, and an HTTP client for tests.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use gateway::server::{Running, start};
use gateway::settings::Settings;
use hyper::header::HeaderMap;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use kit::env::Env;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Any free ports, and no limit on connections by delay: on a machine that builds and tests at once, runnable tasks wait because of
/// other processes.
pub(crate) const PORTS: [(&str, &str); 3] =
    [("WAIT_TARGET_MS", "0"), ("HTTP_PORT", "0"), ("ADMIN_PORT", "0")];

/// A server in this process on ports of its own.
pub(crate) struct Server {
    pub(crate) running: Running,
}

impl Server {
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        let settings = Settings::read(&Env::of(PORTS.into_iter().chain(settings.iter().copied()))).unwrap();
        Self { running: start(&settings).await.unwrap() }
    }

    pub(crate) fn client(&self) -> Client {
        Client { address: self.running.addresses.http }
    }

    pub(crate) fn admin(&self) -> Client {
        Client { address: self.running.addresses.admin }
    }
}

/// Longer than any condition takes on a busy machine.
const CONDITION_TIMEOUT: Duration = Duration::from_secs(30);

/// Checks a condition until it holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    let mut checks = tokio::time::interval(Duration::from_millis(10));
    checks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    while !holds().await {
        assert!(begun.elapsed() < CONDITION_TIMEOUT, "not in time: {what}");
        checks.tick().await;
    }
}

/// A response to a test's request.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl TestResponse {
    /// Null for a body that is not JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// An HTTP client; a connection for each request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
}

impl Client {
    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.request(Method::GET, path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> (StatusCode, Value) {
        self.request(Method::POST, path, &[], body.to_owned()).await
    }

    pub(crate) async fn send(&self, sample: &Value) -> (StatusCode, Value) {
        self.post("/telemetry", &sample.to_string()).await
    }

    pub(crate) async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> (StatusCode, Value) {
        let response = self.exchange(request(method, path, headers, body)).await.unwrap();
        (response.status, response.json())
    }

    /// `Err` when the connection was lost.
    pub(crate) async fn exchange(&self, request: Request<Body>) -> Result<TestResponse, String> {
        let lost = |error: &dyn std::error::Error| error.to_string();
        let stream = tokio::net::TcpStream::connect(self.address).await.map_err(|e| lost(&e))?;
        let shaken = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = shaken.map_err(|e| lost(&e))?;
        tokio::spawn(connection);
        let response = sender.send_request(request).await.map_err(|e| lost(&e))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = to_bytes(Body::new(response.into_body()), usize::MAX).await.map_err(|e| lost(&e))?;
        Ok(TestResponse { status, headers, body: bytes.to_vec() })
    }
}

pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Request<Body> {
    let request = Request::builder().method(method).uri(path).header("host", "test");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(body.into()).unwrap()
}

/// A sample of a device, distinguished from its others by the value.
pub(crate) fn sample(device: &str, value: f64, priority: &str) -> Value {
    json!({
        "device_id": device, "type": "temperature", "value": value, "unit": "C", "priority": priority,
        "timestamp": "2026-01-01T00:00:00.123Z", "metadata": { "location": "hall 1", "firmware_version": "1.2.3" },
    })
}

/// A folder with a file for the sink.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A path in it, as text.
    pub(crate) fn at(&self, name: &str) -> String {
        self.path().join(name).display().to_string()
    }

    /// Tasks in the file of the sink.
    pub(crate) fn tasks(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path().join("tasks")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A metric's value in the text format.
pub(crate) fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}
