//! Listening and serving with bounds: connections, header time, and a drain that finishes the requests in progress.
//!
//! One accept loop serves HTTP/1.1 and HTTP/2 (gRPC) alike, so that every port drains the same way.

mod acceptor;
mod frames;
mod gate;
mod health_path;
mod respond;
mod shed;
mod streams;
mod watches;

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;

use crate::drain::Draining;
use acceptor::{Accepted, Acceptor, BACKLOG};
use gate::GatedRoutes;
pub use gate::{Gate, GatePolicy};
pub(crate) use health_path::HEALTH_PATH;
pub use respond::Respond;
use respond::SharedResponder;
use shed::Shedding;
use streams::StreamExecutor;

/// Why an address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for {purpose}: {source}")]
pub struct BindError {
    /// What the port is for, with the variable that sets it.
    pub purpose: &'static str,
    /// The address asked for.
    pub address: SocketAddr,
    pub source: std::io::Error,
}

/// A bound port before it is served.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    /// The address with the port that the system gave.
    pub address: SocketAddr,
}

/// After the last response, bytes that still arrive are read for this long, up to this many.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
const CLOSE_MAX_BYTES: usize = 1 << 20;

/// Binds `address`; `purpose` names the port in the error, for example `HTTP (HTTP_PORT)`.
///
/// # Errors
/// When the address is taken or not ours.
pub async fn listen(purpose: &'static str, address: SocketAddr) -> Result<Listener, BindError> {
    let bound = async {
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let socket = socket.listen(BACKLOG)?;
        let address = socket.local_addr()?;
        Ok(Listener { socket, address })
    };
    bound.await.map_err(|source| BindError { purpose, address, source })
}

/// The client's address, among a request's extensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// The protocol of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 with keep-alive.
    Http1,
    /// HTTP/2 without TLS, as gRPC clients use it.
    Http2,
}

/// The bounds of one port.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections open at once; more wait in the kernel's backlog.
    pub connections: usize,
    /// Time to send a request's head, which is also how long an idle HTTP/1.1 connection is kept.
    pub header: Duration,
    /// HTTP/2 streams a connection may have open at once.
    pub streams: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections: 8192, header: Duration::from_secs(60), streams: 1024 }
    }
}

/// What is served on a port.
pub struct Port {
    responder: SharedResponder,
    gate: Option<Gate>,
    bounds: Bounds,
}

impl Port {
    /// What answers its requests, what is checked before that, and the bounds on its connections.
    pub fn new(responder: impl Respond, gate: Option<Gate>, bounds: Bounds) -> Self {
        Self { responder: respond::share(responder), gate, bounds }
    }
}

/// Serves a port until the drain begins; returns when every connection has finished or was cut.
pub async fn serve(listener: Listener, protocol: Protocol, port: Port, mut draining: Draining) {
    let Port { mut responder, gate, bounds } = port;
    if protocol == Protocol::Http2 {
        responder = watches::end_with_drain(responder, draining.clone());
    }
    let slots = Arc::new(Semaphore::new(bounds.connections));
    let mut acceptor = Acceptor::new(listener.socket);
    loop {
        // The semaphore is never closed.
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = acceptor.accept(gate.as_ref()) => accepted,
            () = draining.begun() => break,
        };
        let Some(Accepted { stream, peer, open }) = open_connection(accepted).await else { continue };
        // Where a connection has many requests, those are counted.
        let open = open.filter(|_| protocol == Protocol::Http1);
        let (gate, responder) = (gate.clone(), Arc::clone(&responder));
        let routes = GatedRoutes { gate, responder, peer, executor: StreamExecutor::default() };
        let connection = Connection { stream, bounds, routes, draining: draining.clone() };
        tokio::spawn(async move {
            connection.serve(protocol).await;
            drop((slot, open));
        });
    }
    drop(acceptor);
    let all = u32::try_from(bounds.connections).unwrap_or(u32::MAX);
    let _all_finished = slots.acquire_many(all).await;
}

/// Without free file descriptors, `accept` fails at once for as long as that lasts: waiting keeps the loop from
/// spinning.
async fn open_connection(accepted: std::io::Result<Accepted>) -> Option<Accepted> {
    match accepted {
        Ok(accepted) => Some(accepted),
        Err(error) => {
            tracing::warn!(%error, "a connection could not be accepted");
            tokio::time::sleep(Duration::from_millis(20)).await;
            None
        }
    }
}

struct Connection {
    stream: TcpStream,
    bounds: Bounds,
    routes: GatedRoutes,
    draining: Draining,
}

impl Connection {
    async fn serve(mut self, protocol: Protocol) {
        match protocol {
            _ if !self.has_sent_bytes().await => {}
            Protocol::Http1 if self.routes.gate.as_ref().is_some_and(Gate::must_close) => {}
            Protocol::Http1 => self.http1().await,
            Protocol::Http2 => self.http2().await,
        }
    }

    /// Waits for the client's first byte. A client that connects and sends nothing would delay the drain, as neither
    /// protocol ends a connection before its first bytes. Such a connection is closed, also when its first byte takes
    /// longer than a head may.
    async fn has_sent_bytes(&mut self) -> bool {
        let mut first_byte = [0];
        let has_sent = tokio::select! {
            peeked = tokio::time::timeout(self.bounds.header, self.stream.peek(&mut first_byte)) => {
                matches!(peeked, Ok(Ok(1)))
            }
            () = self.draining.begun() => false,
        };
        // While the process is behind, many clients have given up before their connection was accepted.
        let gate = self.routes.gate.as_ref().filter(|gate| gate.is_behind());
        has_sent && (gate.is_none() || !is_read_closed(&self.stream))
    }

    async fn http1(self) {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.bounds.header);
        let Self { stream, routes, mut draining, .. } = self;
        let mut connection = builder.serve_connection(TokioIo::new(stream), routes);
        let ended = tokio::select! {
            ended = &mut connection => Some(ended),
            () = draining.begun() => None,
        };
        let rest = async {
            let ended = match ended {
                Some(ended) => ended,
                None => {
                    Pin::new(&mut connection).graceful_shutdown();
                    (&mut connection).await
                }
            };
            if ended.is_ok() {
                read_until_closed(connection.into_parts().io.into_inner()).await;
            }
        };
        tokio::select! {
            () = rest => {}
            () = draining.cut() => {}
        }
    }

    async fn http2(self) {
        let Self { stream, bounds, routes, draining } = self;
        match routes.gate.clone() {
            Some(gate) => serve_http2(Shedding::new(stream, gate), bounds, routes, draining).await,
            None => serve_http2(stream, bounds, routes, draining).await,
        }
    }
}

async fn serve_http2(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    bounds: Bounds,
    routes: GatedRoutes,
    mut draining: Draining,
) {
    let mut builder = http2::Builder::new(routes.executor.clone());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(bounds.streams)
        .max_pending_accept_reset_streams(bounds.streams as usize)
        .keep_alive_interval(bounds.header)
        .keep_alive_timeout(Duration::from_secs(20));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), routes));
    tokio::select! {
        _ended = connection.as_mut() => return,
        () = draining.begun() => {}
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ended = connection => {}
        () = draining.cut() => {}
    }
}

/// Closing a connection that has unread bytes resets it, and a response that was sent before the request was read may
/// be lost with it. So bytes that still arrive are read for a moment.
async fn read_until_closed(stream: TcpStream) {
    let rest = async {
        let mut bytes = 0;
        while bytes < CLOSE_MAX_BYTES && stream.readable().await.is_ok() {
            match discard(&stream) {
                Ok(0) => return,
                Ok(read) => bytes += read,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _in_time = tokio::time::timeout(CLOSE_TIMEOUT, rest).await;
}

/// Whether the client has closed its sending side, as far as the runtime knows by now; makes no system call.
fn is_read_closed(stream: &TcpStream) -> bool {
    let ready = pin!(stream.ready(Interest::READABLE));
    let polled = ready.poll(&mut Context::from_waker(Waker::noop()));
    matches!(polled, Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

/// Reads into a buffer on the stack: an idle connection allocates none.
fn discard(stream: &TcpStream) -> std::io::Result<usize> {
    stream.try_read(&mut [0; 16 * 1024])
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::response::{IntoResponse as _, Response};
    use axum::routing::get;
    use hyper_util::rt::TokioExecutor;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::backlog::Backlog;
    use crate::drain::Drain;
    use crate::limit::Limit;
    use crate::metrics::Metrics;

    const GRPC_HEALTH: &str = "/grpc.health.v1.Health/Check";
    const POLICY: GatePolicy = GatePolicy {
        metric: "refused_early",
        is_exempt: |path| path == "/health" || path == GRPC_HEALTH,
        refusal: || -> Response { StatusCode::SERVICE_UNAVAILABLE.into_response() },
    };

    /// Sends a request and returns the head of its response; empty if the connection is closed.
    async fn exchange(stream: &mut TcpStream, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = vec![0; 4096];
        let read = stream.read(&mut response).await.unwrap();
        String::from_utf8_lossy(&response[..read]).to_lowercase()
    }

    async fn start(protocol: Protocol, routes: Router, gate: Gate) -> (SocketAddr, Drain) {
        let listener = listen("test", ([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = listener.address;
        let (drain, draining) = Drain::new();
        let port = Port::new(routes, Some(gate), Bounds::default());
        tokio::spawn(serve(listener, protocol, port, draining));
        (address, drain)
    }

    #[tokio::test]
    async fn a_surplus_connection_is_closed_with_a_refusal_and_another_waits_until_there_may_be_one() {
        let backlog = Backlog::default();
        let gate = Gate::new(&backlog, &Limit::new(8), POLICY, &Metrics::new("demo"));
        let ok = || async { "ok" };
        let routes = Router::new().route("/", get(ok)).route("/health", get(ok));
        let (address, _drain) = start(Protocol::Http1, routes, gate).await;
        let mut first = TcpStream::connect(address).await.unwrap();
        let mut second = TcpStream::connect(address).await.unwrap();
        for stream in [&mut first, &mut second] {
            assert!(exchange(stream, "/").await.starts_with("http/1.1 200"));
        }
        backlog.limit_to(1, 1);
        assert!(exchange(&mut first, "/health").await.starts_with("http/1.1 200"));
        let refused = exchange(&mut first, "/").await;
        assert!(refused.starts_with("http/1.1 503") && refused.contains("connection: close"), "{refused}");
        assert!(
            exchange(&mut second, "/").await.starts_with("http/1.1 200"),
            "there is one too many, not two"
        );
        // The port had got leave to accept this one before.
        let mut early = TcpStream::connect(address).await.unwrap();
        assert!(exchange(&mut early, "/").await.starts_with("http/1.1 200"));
        let mut third = TcpStream::connect(address).await.unwrap();
        let mut waiting = std::pin::pin!(exchange(&mut third, "/"));
        tokio::select! {
            biased;
            response = waiting.as_mut() => panic!("it was accepted: {response}"),
            response = exchange(&mut second, "/") => assert!(response.starts_with("http/1.1 200")),
        }
        backlog.limit_to(8, 0);
        assert!(waiting.await.starts_with("http/1.1 200"));
    }

    /// One client that sends a thousand requests on one connection, without waiting for a response.
    #[tokio::test]
    async fn of_the_requests_of_a_connection_those_are_refused_that_are_too_many_and_the_others_finish() {
        let (backlog, work) = (Backlog::default(), Arc::new(Semaphore::new(0)));
        let gate = Gate::new(&backlog, &Limit::new(2_000), POLICY, &Metrics::new("demo"));
        let waiting = Arc::clone(&work);
        let worked_on = move || async move { waiting.acquire_owned().await.unwrap().forget() };
        let routes = Router::new().route("/", get(worked_on)).route(GRPC_HEALTH, get(async || "ok"));
        let (address, _drain) = start(Protocol::Http2, routes, gate).await;
        let io = TokioIo::new(TcpStream::connect(address).await.unwrap());
        let (client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        let send = |path: &str| {
            let request = hyper::Request::get(format!("http://{address}{path}"));
            let (mut client, request) = (client.clone(), request.body(String::new()).unwrap());
            async move { client.send_request(request).await.unwrap().status() }
        };
        backlog.limit_to(100, 900);
        let mut answers: tokio::task::JoinSet<_> = (0..1_000).map(|_| send("/")).collect();
        for _ in 0..900 {
            assert_eq!(answers.join_next().await.unwrap().unwrap(), StatusCode::SERVICE_UNAVAILABLE);
        }
        assert_eq!(send(GRPC_HEALTH).await, StatusCode::OK);
        work.add_permits(101);
        while let Some(answer) = answers.join_next().await {
            assert_eq!(answer.unwrap(), StatusCode::OK, "it was worked on");
        }
        assert_eq!(send("/").await, StatusCode::OK, "there is space again");
        backlog.limit_to(0, 0);
        assert_eq!(send("/").await, StatusCode::SERVICE_UNAVAILABLE);
        backlog.release();
        work.add_permits(1);
        assert_eq!(send("/").await, StatusCode::OK);
    }
}
