//! One socket and the protocol spoken over it.

use std::io::{self, Read, Write};

use evidence::Outcome;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use wire::{Event, Events, Request, Scheme, StartError, WireError};

use crate::operation::{Ended, Operation, OperationToken, Operations};
use crate::program::{Origin, Speaks};

/// Whether the socket can be used yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Connecting,
    Open,
}

/// One socket and the protocol spoken over it.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    pub(super) origin: usize,
    pub(super) state: State,
    pub(super) wire: Wire,
    /// The request this connection was opened for.
    pub(super) queued: Option<u32>,
    pub(super) is_dirty: bool,
    /// The one request an HTTP/1.1 connection carries.
    carried: Option<u32>,
    /// Bytes received since the last response was complete: they belong to the next one.
    unclaimed: u64,
}

/// Why nothing could be read.
pub(super) enum ReadError {
    WouldBlock,
    Failed(Outcome),
}

impl Connection {
    pub(super) fn open(
        origin: usize,
        described: &Origin,
        (registry, token): (&Registry, Token),
    ) -> io::Result<Connection> {
        let mut stream = TcpStream::connect(described.address)?;
        stream.set_nodelay(true)?;
        registry.register(&mut stream, token, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Connection {
            stream,
            origin,
            state: State::Connecting,
            wire: Wire::new(described.speaks),
            queued: None,
            is_dirty: false,
            carried: None,
            unclaimed: 0,
        })
    }

    pub(super) fn deregister(&mut self, registry: &Registry) {
        // Closing the socket would do; a failure here leaves nothing behind.
        let _ = registry.deregister(&mut self.stream);
    }

    pub(super) fn speaks(&self) -> Speaks {
        match self.wire {
            Wire::Http1(_) => Speaks::Http1,
            Wire::Http2(_) => Speaks::Http2,
        }
    }

    /// Whether the connection is established now; an error when it never will be.
    pub(super) fn establish(&mut self) -> io::Result<bool> {
        if let Some(error) = self.stream.take_error()? {
            return Err(error);
        }
        match self.stream.peer_addr() {
            Ok(_) => {
                self.state = State::Open;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn start(
        &mut self,
        (place, token): (u32, OperationToken),
        origin: &Origin,
        operation: &mut Operation,
    ) -> Result<(), StartError> {
        let before = self.wire.outgoing().len();
        let draft = &operation.draft;
        let request = Request {
            method: &draft.method,
            path: &draft.path,
            authority: origin.authority.as_bytes(),
            scheme: Scheme::Http,
            headers: &draft.headers,
            body: &draft.body,
        };
        self.wire.start(token.0, &request)?;
        operation.bytes_out = (self.wire.outgoing().len() - before) as u64;
        self.carried = Some(place);
        Ok(())
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
    pub(super) fn write(&mut self) -> io::Result<()> {
        if self.state == State::Connecting {
            return Ok(());
        }
        while self.wire.has_outgoing() {
            match self.stream.write(self.wire.outgoing()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.wire.sent(n),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Read once and let the protocol make sense of it. Zero bytes: the peer has closed its side.
    pub(super) fn read(
        &mut self,
        buffer: &mut [u8],
        operations: &mut Operations,
        ended: &mut Vec<Ended>,
    ) -> Result<usize, ReadError> {
        let n = loop {
            match self.stream.read(buffer) {
                Ok(n) => break n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(ReadError::WouldBlock),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::Failed(super::outcome_of(&error))),
            }
        };
        if n == 0 {
            return Ok(0);
        }
        self.unclaimed += n as u64;
        let mut collector = Collector { operations, ended, unclaimed: &mut self.unclaimed };
        self.wire.receive(&buffer[..n], &mut collector).map_err(|e| ReadError::Failed(e.outcome()))?;
        Ok(n)
    }

    /// The peer has closed its side: what becomes of requests that are still open.
    pub(super) fn at_end(&mut self, operations: &mut Operations, ended: &mut Vec<Ended>) -> Outcome {
        let mut collector = Collector { operations, ended, unclaimed: &mut self.unclaimed };
        match self.wire.closed(&mut collector) {
            Ok(()) => Outcome::Reset,
            Err(error) => error.outcome(),
        }
    }

    /// Bytes received that no complete response accounts for, once.
    pub(super) fn take_unclaimed(&mut self) -> u64 {
        std::mem::take(&mut self.unclaimed)
    }

    /// Whether an HTTP/1.1 request has been answered since this was last asked.
    pub(super) fn has_just_finished(&mut self) -> bool {
        self.wire.open_requests() == 0 && self.carried.take().is_some()
    }
}

/// Either protocol, behind one face.
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
    fn new(speaks: Speaks) -> Wire {
        match speaks {
            Speaks::Http1 => Wire::Http1(Box::new(wire::h1::Connection::new(wire::h1::Config::default()))),
            Speaks::Http2 => Wire::Http2(Box::new(wire::h2::Connection::new(wire::h2::Config::default()))),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        either!(self, c => c.capacity())
    }

    fn start(&mut self, token: wire::Token, request: &Request<'_>) -> Result<(), StartError> {
        either!(self, c => c.start(token, request))
    }

    fn outgoing(&self) -> &[u8] {
        either!(self, c => c.outgoing())
    }

    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing().is_empty()
    }

    fn sent(&mut self, n: usize) {
        either!(self, c => c.sent(n));
    }

    fn receive(&mut self, input: &[u8], events: &mut impl Events) -> Result<(), WireError> {
        either!(self, c => c.receive(input, events))
    }

    fn closed(&mut self, events: &mut impl Events) -> Result<(), WireError> {
        either!(self, c => c.closed(events))
    }

    fn cancel(&mut self, token: wire::Token) {
        either!(self, c => c.cancel(token));
    }

    pub(super) fn reusable(&self) -> bool {
        either!(self, c => c.reusable())
    }

    pub(super) fn open_requests(&self) -> usize {
        either!(self, c => c.open_requests())
    }
}

/// Puts what the protocol learns into the operations it concerns.
struct Collector<'a> {
    operations: &'a mut Operations,
    ended: &'a mut Vec<Ended>,
    unclaimed: &'a mut u64,
}

impl Collector<'_> {
    fn end(&mut self, token: wire::Token, transport: Option<Outcome>) {
        let received = std::mem::take(self.unclaimed);
        if let Some((_, operation)) = self.operations.find(token) {
            operation.bytes_in = received;
            operation.connection = None;
            let operation = OperationToken(token);
            self.ended.push(Ended { operation, transport });
        }
    }
}

impl Events for Collector<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Head { token, head } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    operation.response.status = head.status;
                    operation.response.add_headers(head.headers.iter());
                }
            }
            Event::Body { token, chunk } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    let keep = operation.draft.keep_body_bytes;
                    operation.response.add_body(chunk, keep);
                }
            }
            Event::Trailers { token, headers } => {
                if let Some((_, operation)) = self.operations.find(token) {
                    operation.response.add_headers(headers.iter());
                }
            }
            Event::Done { token } => self.end(token, None),
            Event::Failed { token, error } => self.end(token, Some(error.outcome())),
        }
    }
}
