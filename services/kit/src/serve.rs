//! Listening and serving with bounds: connections, header time, and a drain that finishes what was begun.
//!
//! One accept loop serves HTTP/1.1 and HTTP/2 (gRPC) alike, so that every port drains the same way.

mod door;
mod gate;
mod wire;

pub use gate::{Gate, GatePolicy};

use crate::drain::Draining;
use axum::Router;
use door::{BACKLOG, Door};
use gate::Gated;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use wire::Wire;

/// Why an address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address} for {purpose}: {source}")]
pub struct BindError {
    /// What the port is for, with the variable that sets it.
    pub purpose: &'static str,
    /// The address asked for.
    pub address: SocketAddr,
    /// What the system said.
    pub source: std::io::Error,
}

/// A bound port that nothing is served on yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    /// The address with the port that was in fact given.
    pub address: SocketAddr,
}

/// After the last answer, what still comes is read for so long, and so much of it.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;

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

/// Who a request came from, among its extensions: the address at the other end of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// What a port speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 with keep-alive.
    Http1,
    /// HTTP/2 without TLS, as gRPC clients speak it.
    Http2,
}

/// The bounds of one port.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections held at once; more wait in the kernel's backlog.
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
    /// Its routes.
    pub routes: Router,
    /// What a request meets before them.
    pub gate: Option<Gate>,
    /// How much is held at once.
    pub bounds: Bounds,
}

/// Serves a port's routes until the drain begins, and returns when every connection has finished or was cut.
pub async fn serve(
    listener: Listener,
    protocol: Protocol,
    Port { routes, gate, bounds }: Port,
    mut draining: Draining,
) {
    let routes = Gated { gate, routes: TowerToHyperService::new(routes), peer: listener.address, wire: None };
    let places = Arc::new(Semaphore::new(bounds.connections));
    let mut door = Door::new(listener.socket);
    loop {
        // The semaphore is never closed, so a place always comes.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = tokio::select! {
            accepted = door.next(routes.gate.as_ref()) => accepted,
            () = draining.begun() => break,
        };
        let Some((stream, peer)) = usable(stream).await else { continue };
        let routes = Gated { peer, ..routes.clone() };
        let connection = Connection { stream, bounds, routes, draining: draining.clone() };
        tokio::spawn(async move {
            connection.serve(protocol).await;
            drop(place);
        });
    }
    drop(door);
    let everyone = u32::try_from(bounds.connections).unwrap_or(u32::MAX);
    let _all_finished = places.acquire_many(everyone).await;
}

/// Out of file descriptors, `accept` fails at once for as long as that lasts: waiting keeps the loop from spinning.
async fn usable(accepted: std::io::Result<(TcpStream, SocketAddr)>) -> Option<(TcpStream, SocketAddr)> {
    match accepted {
        Ok((stream, peer)) => stream.set_nodelay(true).ok().map(|()| (stream, peer)),
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
    routes: Gated,
    draining: Draining,
}

impl Connection {
    async fn serve(mut self, protocol: Protocol) {
        match protocol {
            _ if !self.has_spoken().await => {}
            Protocol::Http1 => self.http1().await,
            Protocol::Http2 => self.http2().await,
        }
    }

    /// A client that connects and stays silent would hold up the drain, as neither protocol says goodbye before it
    /// was greeted. Such a connection is dropped, also when the greeting takes longer than a head may.
    async fn has_spoken(&mut self) -> bool {
        let mut first_byte = [0];
        let has_spoken = tokio::select! {
            spoken = tokio::time::timeout(self.bounds.header, self.stream.peek(&mut first_byte)) => {
                matches!(spoken, Ok(Ok(1)))
            }
            () = self.draining.begun() => false,
        };
        // While there is a line, many have given up before their connection was taken in.
        has_spoken && !(self.routes.gate.as_ref().is_some_and(Gate::has_line) && wire::has_left(&self.stream))
    }

    async fn http1(mut self) {
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.bounds.header);
        let wire = Wire::new(self.stream);
        self.routes.wire = Some(wire.clone());
        let mut connection = builder.serve_connection(TokioIo::new(wire), self.routes);
        let ended = tokio::select! {
            ended = &mut connection => Some(ended),
            () = self.draining.begun() => None,
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
                let wire = connection.into_parts().io.into_inner();
                linger(wire).await;
            }
        };
        tokio::select! {
            () = rest => {}
            () = self.draining.cut() => {}
        }
    }

    async fn http2(mut self) {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.bounds.streams)
            .max_pending_accept_reset_streams(self.bounds.streams as usize)
            .keep_alive_interval(self.bounds.header)
            .keep_alive_timeout(Duration::from_secs(20));
        let mut connection = pin!(builder.serve_connection(TokioIo::new(self.stream), self.routes));
        tokio::select! {
            _ended = connection.as_mut() => return,
            () = self.draining.begun() => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            _ended = connection => {}
            () = self.draining.cut() => {}
        }
    }
}

/// Closing a connection on which something is unread resets it, and an answer that was given before the request was read
/// may be lost with it. So what still comes is read for a moment.
async fn linger(wire: Wire) {
    // The routes have gone with the protocol, so nobody else has a part in it any more.
    let Some(stream) = wire.into_inner() else { return };
    let rest = async {
        let mut bytes = 0;
        while bytes < LINGER_BYTES && stream.readable().await.is_ok() {
            match discard(&stream) {
                Ok(0) => return,
                Ok(read) => bytes += read,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _in_time = tokio::time::timeout(LINGER, rest).await;
}

/// Reads into memory that no connection has to hold.
fn discard(stream: &TcpStream) -> std::io::Result<usize> {
    stream.try_read(&mut [0; 16 * 1024])
}
