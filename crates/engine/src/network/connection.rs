//! One socket, TLS over it where its origin uses that, and the protocol over both.

mod rival;
#[cfg_attr(not(feature = "tls"), path = "connection/without_tls.rs")]
mod tls;

use std::io::{self, Read, Write};
use std::mem::offset_of;
use std::net::IpAddr;
use std::sync::Arc;

use evidence::{Instant, Outcome};
use mio::{Registry, Token};
use wire::{Processing, RenderedRequest, Request, RequestBytes, StartError, StreamId, WireProtocol};

use super::collector::ResponseSink;
use super::loss::ConnectionLoss;
use super::relay::RelayedRequest;
use super::retry::repetition_of;
use super::transport::Transport;
use super::tunnel::{Tunnel, refused};
use super::unsent::UnsentRequests;
use super::{EndedOperation, GivingUp, Repetition};
use crate::exchange::{ConnectionFacts, ConnectionSetup, MAX_UNSENT_BYTES, Purpose};
use crate::index::{OperationIndex, OriginIndex, PoolIndex};
use crate::operation::{Operation, OperationToken, Operations};
use crate::program::{Origin, ProxyMode, Route};
use rival::{ConnectedSocket, Rival};
use tls::{Session, is_closed_by_peer, tls_facts, write_encrypted};

/// Whether the connection can be used yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionState {
    Connecting,
    /// Waiting for a proxy to open a tunnel.
    Tunnelling,
    Handshaking,
    Open,
}

/// One socket, and the state of TLS and the protocol over it.
///
/// With thousands of connections a request finds it in none of the processor's nearest caches, so its fields are in the
/// order of use: the first cache line is read for every event, the second for every request, the third when it opens.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Connection {
    transport: Transport,
    /// While a proxy opens a tunnel.
    tunnel: Option<Box<Tunnel>>,
    session: Option<Box<Session>>,
    pub(super) wire: Box<dyn wire::Connection>,
    pub(super) pool: PoolIndex,
    /// Distinguishes it from connections that had the same index before.
    pub(super) serial: u32,
    /// How many requests on it timed out since the last response was complete.
    pub(super) timeouts: u32,
    pub(super) state: ConnectionState,
    /// The protocol that a handshake must agree on; none: what the peer chooses.
    required: Option<WireProtocol>,
    /// Whether its pool counts it: until it is closed, or the peer takes no more requests on it.
    pub(super) is_counted: bool,
    /// Whether it is in its pool's list of connections without a request.
    pub(super) is_idle: bool,
    /// Whether it is in the network's list of connections that may have bytes to write.
    pub(super) is_dirty: bool,
    /// Whether it waits to be read on.
    pub(super) is_unread: bool,
    /// Whether a request on it was answered: it has been idle.
    pub(super) has_served: bool,
    pub(super) origin: OriginIndex,
    unsent: UnsentRequests,
    /// The request this connection was opened for.
    pub(super) queued: Option<OperationIndex>,
    /// Its position in its pool's list, if it carries many requests at once.
    pub(super) shared_position: usize,
    pub(super) begun: Instant,
    /// When it was begun; later when its tunnel or its handshake was begun.
    since: Instant,
    pub(super) setup: ConnectionSetup,
    route: Arc<Route>,
    /// The number of the address that it is opened to, which counts on over those of the route.
    address: usize,
    /// How many of the addresses were tried, apart from a rival's.
    tries: usize,
    /// While it connects: a second socket, to an address of the other IP version.
    rival: Option<Box<Rival>>,
    /// The address of this machine that it is opened from; none: any.
    local: Option<IpAddr>,
}

// With debug assertions a socket of mio is larger.
const _: () = assert!(
    cfg!(debug_assertions) || offset_of!(Connection, origin) == 64 && offset_of!(Connection, queued) == 128
);

/// Where a connection is opened to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionTarget<'a> {
    pub(super) pool: PoolIndex,
    pub(super) origin: OriginIndex,
    pub(super) described: &'a Origin,
    pub(super) route: &'a Arc<Route>,
    /// The number of the address, which counts on over those of the route, so that connections are spread over them.
    pub(super) address: usize,
    /// The address of this machine that it is opened from; none: any.
    pub(super) local: Option<IpAddr>,
}

/// How a socket is registered for readiness events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registration<'a> {
    pub(super) registry: &'a Registry,
    pub(super) token: Token,
}

impl Registration<'_> {
    fn register(self, mut transport: Transport) -> io::Result<Transport> {
        transport.register(self.registry, self.token)?;
        Ok(transport)
    }
}

/// Why nothing could be read.
pub(super) enum ReadError {
    WouldBlock,
    Failed(ConnectionLoss),
}

impl Connection {
    /// Begin to connect to the target's address, or to the next to which that is possible.
    pub(super) fn open(
        target: ConnectionTarget<'_>,
        registration: Registration<'_>,
        now: Instant,
    ) -> io::Result<Connection> {
        let ConnectionTarget { pool, origin, described, route, address, local } = target;
        let mut tries = 1;
        let transport = loop {
            let opened = Transport::open(route, address + tries - 1, local);
            match opened.and_then(|transport| registration.register(transport)) {
                Ok(transport) => break transport,
                Err(error) if tries >= route.count() => return Err(error),
                Err(_) => tries += 1,
            }
        };
        Ok(Connection {
            transport,
            tunnel: None,
            session: None,
            required: described.protocol,
            origin,
            pool,
            serial: 0,
            shared_position: 0,
            is_counted: true,
            is_idle: false,
            state: ConnectionState::Connecting,
            wire: wire::open(described.protocol.unwrap_or(WireProtocol::Http1)),
            queued: None,
            is_dirty: false,
            is_unread: false,
            unsent: UnsentRequests::default(),
            begun: now,
            has_served: false,
            timeouts: 0,
            since: now,
            setup: ConnectionSetup::default(),
            route: route.clone(),
            address: address + tries - 1,
            tries,
            rival: None,
            local,
        })
    }

    /// When it is closed, its local port is free at once.
    pub(super) fn discard_port(&self) {
        self.transport.discard_port();
    }

    pub(super) fn deregister(&mut self, registry: &Registry) {
        self.transport.deregister(registry);
        if let Some(mut rival) = self.rival.take() {
            rival.transport.deregister(registry);
        }
    }

    pub(super) fn protocol(&self) -> WireProtocol {
        self.wire.protocol()
    }

    /// What is known of it: for requests that ask for that.
    pub(super) fn facts(&self) -> ConnectionFacts {
        ConnectionFacts {
            is_http2: self.protocol() == WireProtocol::Http2,
            remote: self.route.tcp_address(self.address),
            tls: self.session.as_ref().and_then(|session| tls_facts(session)),
        }
    }

    /// Check whether the socket is connected; an error when connecting has failed. Once it is, begin the tunnel or
    /// the handshake, where there is one.
    pub(super) fn finish_connecting(
        &mut self,
        origin: &Origin,
        registry: &Registry,
        now: Instant,
    ) -> Result<bool, ConnectionLoss> {
        match self.connected_socket(registry).map_err(|e| ConnectionLoss::from(&e))? {
            ConnectedSocket::None => return Ok(false),
            ConnectedSocket::RivalOf(number) => origin.address.avoid(&self.route, number, now),
            ConnectedSocket::First => {}
        }
        self.setup.connecting_ns = now.since(self.since).as_nanos() as u64;
        self.since = now;
        if let ProxyMode::Tunnel(request) = &origin.proxy {
            self.tunnel = Some(Box::new(Tunnel::new(request.clone(), origin.tls.clone())));
            self.state = ConnectionState::Tunnelling;
        } else {
            self.secure(origin.tls.as_ref())?;
        }
        Ok(true)
    }

    /// Begin again with the next address of the origin; false when all were tried.
    pub(super) fn try_next(&mut self, registration: Registration<'_>) -> bool {
        while self.tries < self.route.count() {
            self.tries += 1;
            self.address += 1;
            let opened = Transport::open(&self.route, self.address, self.local);
            if let Ok(transport) = opened.and_then(|transport| registration.register(transport)) {
                self.transport.deregister(registration.registry);
                self.transport = transport;
                return true;
            }
        }
        false
    }

    pub(super) fn start(
        &mut self,
        token: OperationToken,
        origin: &Origin,
        operation: &mut Operation,
        rendered: Option<&mut RenderedRequest>,
    ) -> Result<(), StartError> {
        let draft = &operation.draft;
        let relayed = RelayedRequest::new(origin, draft);
        let request = Request {
            method: &draft.method,
            path: relayed.as_ref().map_or(&draft.path, |relayed| &relayed.url),
            authority: draft.authority_or(&origin.authority),
            scheme: origin.scheme,
            headers: relayed.as_ref().map_or(&draft.headers, |relayed| &relayed.headers),
            body: &draft.body,
        };
        if origin.announces_close && draft.purpose != Purpose::WebSocket {
            self.wire.announce_close();
        }
        operation.stream = match (draft.sends_more, rendered) {
            _ if draft.purpose == Purpose::WebSocket => {
                self.wire.start_upgrade(token.0, &request, "websocket").map(Some)?
            }
            (true, _) => self.wire.start_open(token.0, &request).map(Some)?,
            (false, Some(rendered)) if relayed.is_none() => {
                self.wire.start_equal(token.0, &request, rendered).map(|()| None)?
            }
            (false, _) => self.wire.start(token.0, &request).map(|()| None)?,
        };
        self.is_idle = false;
        self.unsent.push(token, self.wire.outgoing().len());
        Ok(())
    }

    /// Send the operation's outbox.
    pub(super) fn send_more(&mut self, stream: StreamId, operation: &mut Operation) {
        self.wire.send(stream, &operation.outbox);
        operation.outbox.clear();
        if !operation.draft.sends_more {
            self.wire.end_body(stream);
        }
    }

    /// Whether so little of a request's messages is unsent that another one may follow.
    pub(super) fn may_send_more(&self, stream: StreamId) -> bool {
        self.wire.held_back(stream).max(self.wire.outgoing().len()) <= MAX_UNSENT_BYTES
    }

    /// A request on it was given up: what was sent and received for it. What is still received is to be ignored.
    pub(super) fn cancel(&mut self, token: OperationToken, why: GivingUp) -> RequestBytes {
        if why == GivingUp::TimedOut {
            self.timeouts += 1;
        }
        self.wire.cancel(token.0).map(|request| request.bytes).unwrap_or_default()
    }

    /// How many more requests it can take now: none while the peer does not read what was sent.
    pub(super) fn capacity(&self) -> usize {
        if self.wire.outgoing().len() > MAX_UNSENT_BYTES { 0 } else { self.wire.capacity() }
    }

    /// Write as much as the socket takes.
    pub(super) fn write(&mut self) -> Result<(), ConnectionLoss> {
        if self.state == ConnectionState::Connecting {
            return Ok(());
        }
        if let Some(tunnel) = &mut self.tunnel {
            return tunnel.write(&mut self.transport).map_err(|error| ConnectionLoss::from(&error));
        }
        let written = match &mut self.session {
            None => write_plain(&mut self.transport, &mut *self.wire, &mut self.unsent),
            Some(session) => {
                let wire = (self.state == ConnectionState::Open).then_some(&mut self.wire);
                write_encrypted(&mut self.transport, session, wire, &mut self.unsent)
            }
        };
        written.map_err(|error| match self.state {
            ConnectionState::Handshaking => ConnectionLoss::ended_in_handshake(),
            _ => ConnectionLoss::from(&error),
        })
    }

    /// Note of requests that were started since the last write that their first byte is sent at `now`.
    pub(super) fn note_sent(&mut self, operations: &mut Operations, now: Instant) {
        for token in self.unsent.take_started() {
            if let Some(operation) = operations.find(token) {
                operation.sent_at = operation.sent_at.min(now);
            }
        }
    }

    /// Note of requests whose last byte was written that this was at `now`.
    pub(super) fn note_written(&mut self, operations: &mut Operations, now: Instant) {
        while let Some(token) = self.unsent.next_written() {
            if let Some(operation) = operations.find(token) {
                operation.written_at = now;
            }
        }
    }

    /// Read once and pass the bytes to the protocol. Zero bytes: the peer has closed its side.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        sink: &mut ResponseSink<'_>,
    ) -> Result<usize, ReadError> {
        let n = loop {
            match self.transport.read(buffer) {
                Ok(n) => break n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(ReadError::WouldBlock),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.state == ConnectionState::Handshaking => {
                    return Err(ReadError::Failed(ConnectionLoss::ended_in_handshake()));
                }
                Err(error) => return Err(ReadError::Failed(ConnectionLoss::from(&error))),
            }
        };
        if n == 0 {
            return Ok(0);
        }
        if let Some(tunnel) = &mut self.tunnel {
            let Some(early) = tunnel.receive(&buffer[..n]).map_err(ReadError::Failed)? else { return Ok(n) };
            self.enter_tunnel(sink.at).map_err(ReadError::Failed)?;
            if !early.is_empty() {
                self.receive(&early, sink).map_err(ReadError::Failed)?;
            }
            return Ok(n);
        }
        let open = self.wire.open_requests();
        let received = self.receive(&buffer[..n], sink).map_err(ReadError::Failed);
        if self.wire.open_requests() < open {
            self.timeouts = 0;
            self.has_served = true;
        }
        received
    }

    /// The proxy has opened the tunnel: continue as on a direct connection.
    fn enter_tunnel(&mut self, now: Instant) -> Result<(), ConnectionLoss> {
        let tls = self.tunnel.take().and_then(|tunnel| tunnel.tls);
        self.setup.connecting_ns += now.since(self.since).as_nanos() as u64;
        self.since = now;
        self.secure(tls.as_ref())
    }

    /// Process received bytes. Zero: the peer has announced the end of its stream.
    #[inline]
    fn receive(&mut self, input: &[u8], sink: &mut ResponseSink<'_>) -> Result<usize, ConnectionLoss> {
        if self.session.is_some() {
            return self.decrypt(input, sink);
        }
        self.wire.receive(input, sink).map_err(ConnectionLoss::from)?;
        Ok(input.len())
    }

    pub(super) fn has_outgoing(&self) -> bool {
        if let Some(tunnel) = &self.tunnel {
            return tunnel.has_outgoing();
        }
        !self.wire.outgoing().is_empty() || self.session.as_ref().is_some_and(|session| session.wants_write())
    }

    /// The peer has closed its side: how requests that are still open end.
    pub(super) fn at_end(&mut self, sink: &mut ResponseSink<'_>) -> ConnectionLoss {
        match self.state {
            ConnectionState::Tunnelling => return refused("ended the connection"),
            ConnectionState::Handshaking => return ConnectionLoss::ended_in_handshake().closed_by_peer(),
            ConnectionState::Connecting | ConnectionState::Open => {}
        }
        // Under TLS an attacker may have caused an end that the peer did not announce, so that end completes no
        // response.
        if self.session.as_mut().is_some_and(|s| !is_closed_by_peer(s)) {
            return ConnectionLoss::from(Outcome::Reset).closed_by_peer();
        }
        let ended = self.wire.closed(sink);
        ended.map_or_else(ConnectionLoss::from, |()| Outcome::Reset.into()).closed_by_peer()
    }

    /// End the operations that it carries, and the one that it was opened for, with the same loss.
    pub(super) fn end_all(
        &mut self,
        loss: &ConnectionLoss,
        operations: &mut Operations,
        ended: &mut Vec<EndedOperation>,
    ) {
        if let Some(operation) = self.queued.take() {
            ended.push(loss.end(operations.token(operation), operations.get_mut(operation)));
        }
        // Only the close of an idle connection says nothing about the request: what violates a protocol is the answer to it.
        let may_have_been_idle = self.has_served && loss.outcome == Outcome::Reset;
        self.wire.for_each_open(&mut |request| {
            let token = OperationToken(request.token);
            let Some(operation) = operations.find(token) else { return };
            operation.add_bytes(request.bytes);
            operation.is_lost_in_flight =
                loss.outcome == Outcome::Reset && request.processing == Processing::Unanswered;
            let repetition =
                if may_have_been_idle { repetition_of(&request, operation) } else { Repetition::Forbidden };
            ended.push(EndedOperation { repetition, ..loss.end(token, operation) });
        });
    }

    /// Whether its last request has ended, and it is not used for another one yet.
    pub(super) fn is_finished(&self) -> bool {
        !self.is_idle && self.wire.open_requests() == 0
    }
}

#[inline]
fn write_plain(
    transport: &mut Transport,
    wire: &mut dyn wire::Connection,
    unsent: &mut UnsentRequests,
) -> io::Result<()> {
    while !wire.outgoing().is_empty() {
        match transport.write(wire.outgoing()) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                wire.sent(n);
                unsent.hand_on(n);
                unsent.note_written();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
