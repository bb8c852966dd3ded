//! Outgoing calls over HTTP/1.1 to one destination: pooled connections, a timeout for the whole call, a limit on the
//! size of its response, and errors that distinguish whether the server may have acted.
//!
//! It follows no redirects. It retries only when a pooled connection was closed before anything was sent over it;
//! whether any other repetition is safe is for its caller to decide.

#[cfg_attr(not(feature = "full"), path = "client/without_tls.rs")]
pub(crate) mod connector;

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use connector::{Connector, connector};

/// Shorter than the idle timeouts of common servers, so that a pooled connection is seldom closed by the server.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);

/// Why a destination cannot be called at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// It is not such an address.
    #[error("expected http://HOST[:PORT][/PATH] or https://..., without a user or a password")]
    Destination,
    /// The system has no certificate authorities, which TLS needs.
    #[error("no certificate authorities were found on this system (SSL_CERT_FILE names others): {0}")]
    NoAuthorities(String),
    /// It needs TLS, which this program was built without.
    #[error("{0}")]
    NoTls(String),
}

/// The bounds of a call.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// From the call to the last byte of its response.
    pub timeout: Duration,
    /// Bytes that a response's body may have.
    pub body_bytes: usize,
}

/// A complete response.
#[derive(Debug, Clone)]
pub struct CallResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl CallResponse {
    /// The value of `Retry-After` in whole seconds. (A date is not supported, and counts as absent.)
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.headers.get(header::RETRY_AFTER)?.to_str().ok()?;
        text.trim().parse().ok().map(Duration::from_secs)
    }
}

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There was no connection to send it over: the server has not acted.
    #[error("no connection: {0}")]
    NotSent(String),
    /// The timeout has passed. Whether the server has acted is unknown.
    #[error("no response within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The connection ended before the response did. Whether the server has acted is unknown.
    #[error("the connection was lost: {0}")]
    Lost(String),
    /// The response's body is larger than allowed; the server responded with this status.
    #[error("the response ({0}) is larger than {1} bytes")]
    TooLarge(StatusCode, usize),
    /// The server responded, and not with a 2xx.
    #[error("the response was {}", .0.status)]
    Status(Box<CallResponse>),
}

/// Calls one destination. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Client {
    inner: legacy::Client<Connector, Full<Bytes>>,
    destination: Uri,
    bounds: Bounds,
}

impl Client {
    /// A client for `destination`, `http://` or `https://`. Nothing is connected before the first call.
    ///
    /// # Errors
    /// When it is no such address, or is `https` and the system has no certificate authorities.
    pub fn to(destination: &str, bounds: Bounds) -> Result<Self, ClientError> {
        let destination: Uri = destination.parse().map_err(|_| ClientError::Destination)?;
        let authority = destination.authority().ok_or(ClientError::Destination)?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(ClientError::Destination);
        }
        let connector = connector(&destination, bounds.timeout)?;
        let inner = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector);
        Ok(Self { inner, destination, bounds })
    }

    /// Whether calls leave this machine in clear text, so that a process on the way can read and change them. A host name
    /// other than `localhost` counts as another machine.
    #[must_use]
    pub fn is_in_clear_text(&self) -> bool {
        let host = self.destination.host().unwrap_or_default();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|ip| ip.to_canonical().is_loopback());
        self.destination.scheme_str() == Some("http") && !is_here
    }

    /// Sends a `GET`.
    ///
    /// # Errors
    /// As [`Client::call`].
    pub async fn get(&self) -> Result<CallResponse, CallError> {
        self.call(Method::GET, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends one request and reads its whole response, within the bounds.
    ///
    /// # Errors
    /// When no complete response with a 2xx came in time.
    pub async fn call(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<CallResponse, CallError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = self.destination.clone();
        *request.headers_mut() = headers;
        let whole = tokio::time::timeout(self.bounds.timeout, self.exchange(request));
        let response = whole.await.map_err(|_| CallError::TimedOut(self.bounds.timeout))??;
        if response.status.is_success() { Ok(response) } else { Err(CallError::Status(Box::new(response))) }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<CallResponse, CallError> {
        let response = self.inner.request(request).await.map_err(|error| {
            let text = chain(&error);
            if error.is_connect() { CallError::NotSent(text) } else { CallError::Lost(text) }
        })?;
        let (head, body) = response.into_parts();
        let limit = self.bounds.body_bytes;
        let whole = Limited::new(body, limit).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                CallError::TooLarge(head.status, limit)
            } else {
                CallError::Lost(chain(error.as_ref()))
            }
        })?;
        Ok(CallResponse { status: head.status, headers: head.headers, body: whole.to_bytes() })
    }
}

/// An error's message with those of its sources: the outermost alone is often "client error".
fn chain(error: &dyn std::error::Error) -> String {
    let sources = std::iter::successors(Some(error), |error| error.source());
    sources.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    const BOUNDS: Bounds = Bounds { timeout: Duration::from_secs(10), body_bytes: 100 };

    /// The outcome of a call when the server reads the request and then writes `reply`; `None`: it writes nothing.
    async fn call_outcome(reply: Option<String>, bounds: Bounds) -> Result<CallResponse, CallError> {
        let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::to(&format!("http://{}/", socket.local_addr().unwrap()), bounds).unwrap();
        let serving = async {
            let (mut stream, _) = socket.accept().await.unwrap();
            let _head = stream.read(&mut [0; 1000]).await.unwrap();
            match reply {
                Some(text) => stream.write_all(text.as_bytes()).await.unwrap(),
                None => std::future::pending().await,
            }
            drop(stream);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            outcome = client.get() => outcome,
            () = serving => unreachable!("the server waits"),
        }
    }

    fn reply(status: &str, body: &str) -> Option<String> {
        Some(format!("HTTP/1.1 {status}\r\nretry-after: 7\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    }

    #[test]
    fn calls_to_this_machine_and_by_tls_are_not_in_clear_text() {
        for (destination, expect) in [
            ("http://keys.example/jwks", true),
            ("http://10.0.0.7:8080/", true),
            ("http://[2001:db8::1]/", true),
            ("http://localhost.example/", true),
            ("http://localhost:80/", false),
            ("http://127.0.0.1:1/", false),
            ("http://[::1]:1/", false),
            ("http://[::ffff:127.0.0.1]:1/", false),
            ("https://keys.example/jwks", false),
        ] {
            assert_eq!(Client::to(destination, BOUNDS).unwrap().is_in_clear_text(), expect, "{destination}");
        }
    }

    #[tokio::test]
    async fn errors_distinguish_whether_the_server_may_have_acted() {
        // A port that is bound and not listened on refuses connections.
        let bound = TcpSocket::new_v4().unwrap();
        bound.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let refusing = format!("http://{}/", bound.local_addr().unwrap());
        let unsent = Client::to(&refusing, BOUNDS).unwrap().get().await;
        assert!(matches!(unsent, Err(CallError::NotSent(_))), "{unsent:?}");
        let brief = Bounds { timeout: Duration::from_millis(50), ..BOUNDS };
        let silent = call_outcome(None, brief).await;
        assert!(matches!(silent, Err(CallError::TimedOut(_))), "{silent:?}");
        for cut in ["", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"] {
            let lost = call_outcome(Some(cut.to_owned()), BOUNDS).await;
            assert!(matches!(lost, Err(CallError::Lost(_))), "{lost:?}");
        }
    }

    #[tokio::test]
    async fn responses_are_complete_bounded_and_redirects_not_followed() {
        assert_eq!(call_outcome(reply("200 OK", "hello"), BOUNDS).await.unwrap().body, "hello");
        let large = call_outcome(reply("200 OK", &"x".repeat(101)), BOUNDS).await;
        assert!(matches!(large, Err(CallError::TooLarge(StatusCode::OK, 100))), "{large:?}");
        for status in ["302 Found", "404 Not Found", "503 Busy"] {
            let Err(CallError::Status(refused)) = call_outcome(reply(status, ""), BOUNDS).await else {
                panic!("{status} is not success")
            };
            assert!(status.starts_with(refused.status.as_str()));
            assert_eq!(refused.retry_after(), Some(Duration::from_secs(7)));
        }
    }

    #[test]
    fn only_addresses_without_secrets_are_destinations() {
        for address in ["", "host", "ftp://host/", "http://", "http://me:secret@host/", "file:///x"] {
            assert_eq!(Client::to(address, BOUNDS).unwrap_err(), ClientError::Destination, "{address}");
        }
    }
}
