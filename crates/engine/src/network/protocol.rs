//! HTTP/1.1 or HTTP/2, behind one interface.

use wire::h2::StreamId;
use wire::{Events, Request, StartError, WireError};

use crate::program::WireProtocol;

/// A client connection of either protocol.
#[derive(Debug)]
pub(super) enum Wire {
    Http1(Box<wire::h1::Connection>),
    Http2(Box<wire::h2::Connection>),
}

macro_rules! either {
    ($self:ident, $connection:ident => $call:expr) => {
        match $self {
            Wire::Http1($connection) => $call,
            Wire::Http2($connection) => $call,
        }
    };
}

impl Wire {
    pub(super) fn new(protocol: WireProtocol) -> Wire {
        match protocol {
            WireProtocol::Http1 => {
                Wire::Http1(Box::new(wire::h1::Connection::new(wire::h1::Config::default())))
            }
            WireProtocol::Http2 => {
                Wire::Http2(Box::new(wire::h2::Connection::new(wire::h2::Config::default())))
            }
        }
    }

    pub(super) fn protocol(&self) -> WireProtocol {
        match self {
            Wire::Http1(_) => WireProtocol::Http1,
            Wire::Http2(_) => WireProtocol::Http2,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        either!(self, c => c.capacity())
    }

    pub(super) fn start(&mut self, token: wire::Token, request: &Request<'_>) -> Result<(), StartError> {
        either!(self, c => c.start(token, request))
    }

    /// Start a request that sends further messages, which is supported over HTTP/2 only.
    pub(super) fn start_open(
        &mut self,
        token: wire::Token,
        request: &Request<'_>,
    ) -> Result<StreamId, StartError> {
        match self {
            Wire::Http1(_) => Err(StartError::NotReady),
            Wire::Http2(connection) => connection.start_open(token, request),
        }
    }

    pub(super) fn send(&mut self, stream: StreamId, part: &[u8]) {
        if let Wire::Http2(connection) = self {
            connection.send(stream, part);
        }
    }

    pub(super) fn end_body(&mut self, stream: StreamId) {
        if let Wire::Http2(connection) = self {
            connection.end_body(stream);
        }
    }

    pub(super) fn outgoing(&self) -> &[u8] {
        either!(self, c => c.outgoing())
    }

    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing().is_empty()
    }

    pub(super) fn sent(&mut self, n: usize) {
        either!(self, c => c.sent(n));
    }

    pub(super) fn receive(&mut self, input: &[u8], events: &mut impl Events) -> Result<(), WireError> {
        either!(self, c => c.receive(input, events))
    }

    pub(super) fn closed(&mut self, events: &mut impl Events) -> Result<(), WireError> {
        either!(self, c => c.closed(events))
    }

    pub(super) fn cancel(&mut self, token: wire::Token) {
        either!(self, c => c.cancel(token));
    }

    /// Call `visit` with the token of each request that has not ended.
    pub(super) fn for_each_open(&self, visit: impl FnMut(wire::Token)) {
        either!(self, c => c.for_each_open(visit));
    }

    pub(super) fn reusable(&self) -> bool {
        either!(self, c => c.reusable())
    }

    pub(super) fn open_requests(&self) -> usize {
        either!(self, c => c.open_requests())
    }
}
