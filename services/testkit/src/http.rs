//! An HTTP client.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that was lost.
pub type Lost = Box<dyn Error + Send + Sync>;

#[derive(Debug)]
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Response {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The JSON that the header announces; null for an empty body, a text for any other.
    pub fn json(&self) -> Value {
        match self.headers.get(CONTENT_TYPE) {
            Some(kind) if kind == "application/json" => serde_json::from_slice(&self.body).unwrap(),
            _ if self.body.is_empty() => Value::Null,
            _ => String::from_utf8_lossy(&self.body).into(),
        }
    }

    pub fn status_and_json(&self) -> (StatusCode, Value) {
        (self.status, self.json())
    }
}

/// A connection for each request.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    pub address: SocketAddr,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    pub async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.request(Method::GET, path, &[], "").await
    }

    pub async fn post(&self, path: &str, body: impl ToString) -> (StatusCode, Value) {
        self.request(Method::POST, path, &[], body.to_string()).await
    }

    pub async fn request(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> (StatusCode, Value) {
        self.exchange(request(method, path, headers, body)).await.status_and_json()
    }

    /// The body of the response to a GET.
    pub async fn text(&self, path: &str) -> String {
        self.exchange(request(Method::GET, path, &[], "")).await.text()
    }

    /// What the port's metrics say, in the text format.
    pub async fn metric(&self, name: &str) -> f64 {
        metric(&self.text("/metrics").await, name).unwrap()
    }

    pub async fn exchange(&self, request: Request<Body>) -> Response {
        self.try_exchange(request).await.unwrap()
    }

    /// A request during which the server may end.
    ///
    /// # Errors
    /// When the connection was lost.
    pub async fn try_exchange(&self, request: Request<Body>) -> Result<Response, Lost> {
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = to_bytes(Body::new(body), usize::MAX).await?.to_vec();
        Ok(Response { status: head.status, headers: head.headers, body })
    }
}

pub fn request<M>(method: M, path: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Request<Body>
where
    Method: TryFrom<M, Error: Into<axum::http::Error>>,
{
    let request = Request::builder().method(method).uri(path).header("host", "test");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::from(body.as_ref().to_vec())).unwrap()
}

/// A metric's value in the text format.
pub fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// A connection on which `bytes` were sent.
pub async fn connect_and_send(address: SocketAddr, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_bytes()).await.unwrap();
    stream
}

/// Sends `bytes`, closes the sending side, and returns what is received until the peer closes or sends nothing for 5 s.
pub async fn send_bytes(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The peer may close before it has read everything.
    let _cut_short = stream.write_all(bytes).await;
    let _cut_short = stream.shutdown().await;
    let mut answer = Vec::new();
    let _reset = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await;
    answer
}
