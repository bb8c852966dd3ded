//! HTTP/1.1, HTTP/2, gRPC and WebSocket clients as state machines without input or output.
//!
//! Bytes go in; bytes and [`Event`]s come out. The owner of the socket and the clock (the engine's loop)
//! drives a connection like this:
//!
//! 1. [`Connection::start`] while [`capacity`](Connection::capacity) is above zero;
//! 2. write `outgoing()` to the socket and say with `sent(n)` how much of it went;
//! 3. hand whatever was read to `receive`, which calls [`Events::event`] for each thing learnt;
//! 4. on end of file call `closed`. After an `Err` the connection is dead: every request that
//!    `for_each_open` still names has failed with that error.
//!
//! Both protocols are a [`Connection`]: [`open`] makes one of either.
//!
//! This crate must not know sockets, clocks, threads or an async runtime. Peers are hostile until proven
//! otherwise: whatever they send yields events or one typed [`WireError`], in bounded memory, and never a
//! panic. In steady state a request and its response allocate nothing: buffers are reused and header
//! values are slices of the input or of the decoder's buffer.
//!
//! # How the end of an HTTP/1.1 response is found
//!
//! By one rule, whatever else a head contains (RFC 9112, section 6.3): no body follows a response to `HEAD` and the statuses 101, 204 and
//! 304; `transfer-encoding: chunked` comes before `content-length`; several lengths must agree; without either the body
//! ends with the connection. Where another reader might apply another rule (both fields, a coding in HTTP/1.0, either of them in a
//! form that the standard forbids), the connection carries no further request: no byte after such a response is ever read as
//! part of another one. What is not in the form of the standard is named by [`Deviation`].
//!
//! Start reading at [`connection`] and [`event`], then [`h1`]; [`h2`] has the same outside and its own framing
//! and HPACK inside; [`grpc`] sits on top of `h2`'s events and holds no state but a message in progress. [`websocket`] takes the bytes
//! of a connection that was asked to switch by [`Connection::start_upgrade`].

#![warn(missing_docs)]

pub mod coding;
pub mod connection;
mod decimal;
pub mod deviation;
pub mod error;
pub mod event;
pub mod grpc;
pub mod h1;
pub mod h2;
pub mod headers;
mod outgoing;
mod recent_head;
#[cfg(test)]
mod recorded;
mod rendered;
mod request_rules;
pub mod websocket;

pub use connection::{Connection, StreamId, WireProtocol};
pub use deviation::{Deviation, Deviations};
pub use error::{StartError, WireError};
pub use event::{Event, Events, OpenRequest, Processing, Request, RequestBytes, ResponseHead, Scheme, Token};
pub use headers::{HeaderView, Headers};
pub use rendered::RenderedRequest;

/// A fresh connection of this protocol, with its default configuration.
pub fn open(protocol: WireProtocol) -> Box<dyn Connection> {
    match protocol {
        WireProtocol::Http1 => Box::new(h1::Connection::new()),
        WireProtocol::Http2 => Box::new(h2::Connection::new(h2::Config::default())),
    }
}
