//! One socket and the protocol spoken over it.

use std::io::{self, Read, Write};

use evidence::Outcome;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use wire::{Request, Scheme, StartError};

use super::collector::Collector;
use super::exhausted::outcome_of;
use super::protocol::Wire;
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
    /// Tells it from connections that had the same place before.
    pub(super) serial: u32,
    /// Where it stands in its pool's list, if it carries many requests at once.
    pub(super) slot: usize,
    pub(super) state: State,
    pub(super) wire: Wire,
    /// The request this connection was opened for.
    pub(super) queued: Option<u32>,
    pub(super) is_dirty: bool,
    /// The one request an HTTP/1.1 connection carries.
    current: Option<u32>,
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
            serial: 0,
            slot: 0,
            state: State::Connecting,
            wire: Wire::new(described.speaks),
            queued: None,
            is_dirty: false,
            current: None,
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
        self.current = Some(place);
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
                Err(error) => return Err(ReadError::Failed(outcome_of(&error))),
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

    /// Put the operations it carries, and the one it was opened for, into `tokens`.
    pub(super) fn carried(&mut self, operations: &Operations, tokens: &mut Vec<OperationToken>) {
        tokens.extend(self.queued.take().map(|place| operations.token(place)));
        self.wire.for_each_open(|token| tokens.push(OperationToken(token)));
    }

    /// Bytes received that no complete response accounts for, once.
    pub(super) fn take_unclaimed(&mut self) -> u64 {
        std::mem::take(&mut self.unclaimed)
    }

    /// Whether an HTTP/1.1 request has been answered since this was last asked.
    pub(super) fn has_just_finished(&mut self) -> bool {
        self.wire.open_requests() == 0 && self.current.take().is_some()
    }
}
