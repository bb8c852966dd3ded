//! One socket, TLS over it if its origin wants that, and the protocol spoken over both.

mod tls;

use std::io::{self, Read, Write};

use evidence::{Instant, Outcome};
use mio::{Registry, Token};
use rustls::ClientConnection;
use wire::h2::StreamId;
use wire::{Request, StartError};

use super::collector::Collector;
use super::lost::Lost;
use super::protocol::Wire;
use super::relay::Relayed;
use super::transport::Transport;
use super::tunnel::{Tunnel, refused};
use crate::operation::{Ended, Opening, Operation, OperationToken, Operations};
use crate::program::{Origin, Route, Speaks, Via};
use tls::{has_said_goodbye, write_secret};

/// Whether the connection can be used yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    /// Asking a proxy.
    Tunnelling,
    Handshaking,
    Open,
}

/// One socket and what is spoken over it.
#[derive(Debug)]
pub(super) struct Connection {
    transport: Transport,
    /// While a proxy is asked.
    tunnel: Option<Box<Tunnel>>,
    session: Option<Box<ClientConnection>>,
    /// What a handshake must agree on; none: what the peer chooses.
    wanted: Option<Speaks>,
    pub(super) origin: usize,
    /// Tells it from connections that had the same place before.
    pub(super) serial: u32,
    /// Where it stands in its pool's list, if it carries many requests at once.
    pub(super) slot: usize,
    /// Whether its pool counts it: until it is closed, or the peer says that it takes no more.
    pub(super) is_counted: bool,
    /// The virtual user it belongs to, where connections belong to iterations.
    pub(super) owner: u32,
    pub(super) state: State,
    pub(super) wire: Wire,
    /// The request this connection was opened for.
    pub(super) queued: Option<u32>,
    pub(super) is_dirty: bool,
    /// The last request that an unshared connection was given, until its end is noticed.
    current: Option<u32>,
    /// Requests of which bytes may still wait to be sent.
    unsent: Vec<OperationToken>,
    /// When it was begun, and then when its handshake was.
    since: Instant,
    pub(super) opening: Opening,
    /// Bytes received since the last response was complete: they belong to the next one.
    unclaimed: u64,
    /// Which of the origin's addresses it goes to, counted on, and how many were tried.
    address: usize,
    tries: usize,
}

/// Why nothing could be read.
pub(super) enum ReadError {
    WouldBlock,
    Failed(Lost),
}

impl Connection {
    /// Begin to connect to the origin's `nth` address, or the next that takes it.
    pub(super) fn open(
        origin: usize,
        (described, nth, now): (&Origin, usize, Instant),
        (registry, token): (&Registry, Token),
    ) -> io::Result<Connection> {
        let mut tries = 1;
        let transport = loop {
            let opened = Transport::open(&described.route, nth + tries - 1);
            match opened.and_then(|mut t| t.register(registry, token).map(|()| t)) {
                Ok(transport) => break transport,
                Err(error) if tries >= described.route.addresses() => return Err(error),
                Err(_) => tries += 1,
            }
        };
        Ok(Connection {
            transport,
            tunnel: None,
            session: None,
            wanted: described.speaks,
            origin,
            serial: 0,
            slot: 0,
            is_counted: true,
            owner: 0,
            state: State::Connecting,
            wire: Wire::new(described.speaks.unwrap_or(Speaks::Http1)),
            queued: None,
            is_dirty: false,
            current: None,
            unsent: Vec::new(),
            since: now,
            opening: Opening::default(),
            unclaimed: 0,
            address: nth + tries - 1,
            tries,
        })
    }

    pub(super) fn deregister(&mut self, registry: &Registry) {
        self.transport.deregister(registry);
    }

    pub(super) fn speaks(&self) -> Speaks {
        self.wire.speaks()
    }

    /// Whether the socket is connected now; an error when it never will be. A handshake, where there is one,
    /// has then begun.
    pub(super) fn establish(&mut self, origin: &Origin, now: Instant) -> Result<bool, Lost> {
        if !self.transport.is_connected().map_err(|e| Lost::from(&e))? {
            return Ok(false);
        }
        self.opening.connecting_ns = now.since(self.since).as_nanos() as u64;
        self.since = now;
        if let Via::Tunnel(request) = &origin.via {
            self.tunnel = Some(Box::new(Tunnel::new(request.clone(), origin.tls.clone())));
            self.state = State::Tunnelling;
        } else {
            self.secure(origin.tls.as_ref())?;
        }
        Ok(true)
    }

    /// Begin anew with the next address of the origin; false when all were tried.
    pub(super) fn try_next(&mut self, route: &Route, (registry, token): (&Registry, Token)) -> bool {
        while self.tries < route.addresses() {
            self.tries += 1;
            self.address += 1;
            let opened = Transport::open(route, self.address);
            if let Ok(transport) = opened.and_then(|mut t| t.register(registry, token).map(|()| t)) {
                self.transport.deregister(registry);
                self.transport = transport;
                return true;
            }
        }
        false
    }

    pub(super) fn start(
        &mut self,
        (place, token): (u32, OperationToken),
        origin: &Origin,
        operation: &mut Operation,
    ) -> Result<(), StartError> {
        let before = self.wire.outgoing().len();
        let draft = &operation.draft;
        let relayed = Relayed::of(origin, draft);
        let request = Request {
            method: &draft.method,
            path: relayed.as_ref().map_or(&draft.path, |relayed| &relayed.url),
            authority: origin.authority.as_bytes(),
            scheme: origin.scheme,
            headers: relayed.as_ref().map_or(&draft.headers, |relayed| &relayed.headers),
            body: &draft.body,
        };
        operation.stream = match draft.sends_more {
            false => self.wire.start(token.0, &request).map(|()| None)?,
            true => self.wire.start_open(token.0, &request).map(Some)?,
        };
        operation.bytes_out += (self.wire.outgoing().len() - before) as u64;
        self.current = Some(place);
        self.unsent.push(token);
        Ok(())
    }

    /// Send what the operation's outbox holds.
    pub(super) fn send_more(&mut self, stream: StreamId, operation: &mut Operation) {
        self.wire.send(stream, &operation.outbox);
        operation.bytes_out += operation.outbox.len() as u64;
        operation.outbox.clear();
        if !operation.draft.sends_more {
            self.wire.end_body(stream);
        }
    }

    /// The operation was given up; what still comes for it is to be ignored.
    pub(super) fn forget(&mut self, operation: u32, token: OperationToken) {
        if self.queued == Some(operation) {
            self.queued = None;
        } else {
            self.wire.cancel(token.0);
        }
    }

    /// Write as much as the socket takes.
    pub(super) fn write(&mut self) -> Result<(), Lost> {
        if self.state == State::Connecting {
            return Ok(());
        }
        if let Some(tunnel) = &mut self.tunnel {
            return tunnel.write(&mut self.transport).map_err(|error| Lost::from(&error));
        }
        let written = match &mut self.session {
            None => write_plain(&mut self.transport, &mut self.wire),
            Some(session) => {
                let wire = (self.state == State::Open).then_some(&mut self.wire);
                write_secret(&mut self.transport, session, wire)
            }
        };
        written.map_err(|error| match self.state {
            State::Handshaking => self.cut_off(),
            _ => Lost::from(&error),
        })
    }

    /// All that was to be sent is sent: so are the requests among it.
    pub(super) fn note_written(&mut self, operations: &mut Operations, now: Instant) {
        for token in self.unsent.drain(..) {
            if let Some((_, operation)) = operations.find(token.0) {
                operation.written = now;
            }
        }
    }

    /// Read once and let the protocol make sense of it. Zero bytes: the peer has closed its side.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        (operations, at): (&mut Operations, Instant),
        ended: &mut Vec<Ended>,
    ) -> Result<usize, ReadError> {
        let n = loop {
            match self.transport.read(buffer) {
                Ok(n) => break n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(ReadError::WouldBlock),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if self.state == State::Handshaking => return Err(ReadError::Failed(self.cut_off())),
                Err(error) => return Err(ReadError::Failed(Lost::from(&error))),
            }
        };
        if n == 0 {
            return Ok(0);
        }
        if let Some(tunnel) = &mut self.tunnel {
            let Some(early) = tunnel.receive(&buffer[..n]).map_err(ReadError::Failed)? else { return Ok(n) };
            self.enter(at).map_err(ReadError::Failed)?;
            if !early.is_empty() {
                self.take(&early, (operations, at), ended).map_err(ReadError::Failed)?;
            }
            return Ok(n);
        }
        self.take(&buffer[..n], (operations, at), ended).map_err(ReadError::Failed)
    }

    /// The proxy has made the tunnel: go on as though it were not there.
    fn enter(&mut self, now: Instant) -> Result<(), Lost> {
        let tls = self.tunnel.take().and_then(|tunnel| tunnel.tls);
        self.opening.connecting_ns += now.since(self.since).as_nanos() as u64;
        self.since = now;
        self.secure(tls.as_ref())
    }

    /// Take in what the peer sent. Zero: it has said that nothing more will come.
    #[inline]
    fn take(
        &mut self,
        input: &[u8],
        (operations, at): (&mut Operations, Instant),
        ended: &mut Vec<Ended>,
    ) -> Result<usize, Lost> {
        if self.session.is_some() {
            return self.decrypt(input, (operations, at), ended);
        }
        self.unclaimed += input.len() as u64;
        let mut collector = Collector { operations, ended, at, unclaimed: &mut self.unclaimed };
        self.wire.receive(input, &mut collector).map_err(|e| Lost::from(e.outcome()))?;
        Ok(input.len())
    }

    pub(super) fn has_outgoing(&self) -> bool {
        if let Some(tunnel) = &self.tunnel {
            return tunnel.has_outgoing();
        }
        self.wire.has_outgoing() || self.session.as_ref().is_some_and(|session| session.wants_write())
    }

    /// The peer has closed its side: what becomes of requests that are still open.
    pub(super) fn at_end(
        &mut self,
        (operations, at): (&mut Operations, Instant),
        ended: &mut Vec<Ended>,
    ) -> Lost {
        match self.state {
            State::Tunnelling => return refused("ended the connection"),
            State::Handshaking => return self.cut_off(),
            State::Connecting | State::Open => {}
        }
        // Under TLS an end that the peer did not announce may be anybody's doing: what it would complete
        // is not complete.
        if self.session.as_mut().is_some_and(|s| !has_said_goodbye(s)) {
            return Outcome::Reset.into();
        }
        let mut collector = Collector { operations, ended, at, unclaimed: &mut self.unclaimed };
        match self.wire.closed(&mut collector) {
            Ok(()) => Outcome::Reset.into(),
            Err(error) => error.outcome().into(),
        }
    }

    /// Put the operations it carries, and the one it was opened for, into `tokens`.
    pub(super) fn carried(&mut self, operations: &Operations, tokens: &mut Vec<OperationToken>) {
        tokens.extend(self.queued.take().map(|place| operations.token(place)));
        self.wire.for_each_open(|token| tokens.push(OperationToken(token)));
    }

    /// Bytes received that no complete response accounts for, once.
    pub(super) fn take_unclaimed(&mut self) -> u64 {
        std::mem::take(&mut self.unclaimed)
    }

    /// Whether the request of an unshared connection has ended since this was last asked.
    pub(super) fn has_just_finished(&mut self) -> bool {
        self.wire.open_requests() == 0 && self.current.take().is_some()
    }
}

#[inline]
fn write_plain(transport: &mut Transport, wire: &mut Wire) -> io::Result<()> {
    while wire.has_outgoing() {
        match transport.write(wire.outgoing()) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => wire.sent(n),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
