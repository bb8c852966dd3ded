//! The sockets of one loop: its connections, which request uses which, bytes in and out.
//!
//! It does not use scenarios or time limits. Operations that end on the wire are put into a list that the loop
//! empties; an error means that the generator itself has run out of a resource.

mod closing;
mod collector;
mod connection;
mod exhausted;
mod lifecycle;
mod loss;
mod placing;
mod pool;
mod pools;
mod ports;
mod races;
mod relay;
mod resolving;
mod retry;
mod socket;
mod streams;
mod transport;
mod tunnel;
mod unsent;

use std::collections::VecDeque;
use std::sync::Arc;

use evidence::{Instant, Outcome};
use mio::event::Event;
use mio::{Registry, Token, Waker};
use slab::Slab;
use wire::RenderedRequest;
use wire::h1::RecentHead;
use workload::schedule::Segment;

use crate::clock::Clock;
use crate::exchange::ConnectionSetup;
use crate::index::{ConnectionIndex, OriginIndex, PoolIndex, UserIndex};
use crate::operation::{OperationToken, Operations};
use crate::program::Program;
use closing::ClosingConnections;
use collector::ResponseSink;
use connection::{Connection, ConnectionState, ReadError};
pub use exhausted::Exhausted;
use loss::ConnectionLoss;
use pools::Pools;
use races::Race;

/// Tokens below this belong to the loop's timer and waker.
const FIRST_CONNECTION: usize = 2;
const READ_BUFFER_BYTES: usize = 128 * 1024;
/// How often a socket is read before the loop has its turn: a peer that sends faster than its bytes are understood must not
/// keep the loop from timers and from other connections.
const READS_A_TURN: usize = 8;

/// Whether a readiness event is one of a connection.
pub(crate) fn is_connection(token: Token) -> bool {
    token.0 >= FIRST_CONNECTION
}

fn token_of(connection: ConnectionIndex) -> Token {
    Token(connection.0 + FIRST_CONNECTION)
}

/// A connection that was opened, and how long that took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenedConnection {
    pub(crate) origin: OriginIndex,
    pub(crate) setup: ConnectionSetup,
}

/// An operation that has ended on the wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EndedOperation {
    pub(crate) operation: OperationToken,
    /// How the exchange failed; none when a complete response was received.
    pub(crate) transport: Option<Outcome>,
    pub(crate) repetition: Repetition,
}

/// Whether a request may be sent again: the peer has not processed it, or doing it again changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    Forbidden,
    /// Once.
    Allowed,
    /// On another connection: the peer has ended this one without processing the request.
    Elsewhere,
    /// No connection has carried it yet.
    Unsent,
}

impl EndedOperation {
    /// An operation that is not sent again.
    pub(crate) fn new(operation: OperationToken, transport: Option<Outcome>) -> Self {
        EndedOperation { operation, transport, repetition: Repetition::Forbidden }
    }
}

/// Why an operation is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GivingUp {
    /// Its time limit has passed.
    TimedOut,
    /// Its response is not needed any more.
    Cancelled,
}

/// How far a socket is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadUntil {
    /// Until a read that does not fill the buffer: the socket is empty then.
    ShortRead,
    /// Until the end of the stream: the peer has closed its side.
    EndOfStream,
}

/// The sockets of one loop.
#[derive(Debug)]
pub(crate) struct Network {
    program: Arc<Program>,
    clock: Clock,
    /// Which virtual users it has.
    segment: Segment,
    /// Virtual users that have the connections of another one, in ascending order.
    same_users: Vec<(UserIndex, UserIndex)>,
    registry: Registry,
    /// Wakes the loop when a lookup has ended.
    waker: Arc<Waker>,
    connections: Slab<Connection>,
    pools: Pools,
    buffer: Box<[u8]>,
    /// Operations that ended since the loop last emptied this list.
    pub(crate) ended: Vec<EndedOperation>,
    /// Operations of which a part was received that their iterations are to be handed.
    pub(crate) received: VecDeque<OperationToken>,
    /// The last response head of each endpoint over HTTP/1.1.
    heads: Vec<RecentHead>,
    /// The requests that are all the same, as they are sent.
    rendered: Vec<RenderedRequest>,
    /// Connections that may have bytes to write.
    dirty: Vec<ConnectionIndex>,
    /// Connections that had more to read when their turn was over. No event announces what is already there.
    unread: Vec<ConnectionIndex>,
    /// Counts connections, so that each has a serial of its own.
    next_serial: u32,
    /// When the loop woke up for the events that it handles now: what is read was received by then.
    woke: Instant,
    /// Connections that were opened since the loop last emptied this list.
    pub(crate) opened: Vec<OpenedConnection>,
    /// Pools whose requests wait for the address of their origin.
    resolving: Vec<PoolIndex>,
    /// Connections that may get a rival, the next one first.
    races: VecDeque<Race>,
    closing: ClosingConnections,
    /// Pools whose requests wait for a local port.
    lack_ports: Vec<PoolIndex>,
    /// When connections of these are tried again.
    ports_tried_at: Instant,
}

impl Network {
    pub(crate) fn new(program: Arc<Program>, clock: Clock, registry: Registry, waker: Arc<Waker>) -> Self {
        Network {
            program,
            clock,
            segment: Segment::WHOLE,
            same_users: Vec::new(),
            registry,
            waker,
            connections: Slab::new(),
            pools: Pools::default(),
            buffer: vec![0; READ_BUFFER_BYTES].into(),
            ended: Vec::new(),
            received: VecDeque::new(),
            heads: Vec::new(),
            rendered: Vec::new(),
            dirty: Vec::new(),
            unread: Vec::new(),
            next_serial: 0,
            woke: Instant::EPOCH,
            opened: Vec::new(),
            resolving: Vec::new(),
            races: VecDeque::new(),
            closing: ClosingConnections::default(),
            lack_ports: Vec::new(),
            ports_tried_at: Instant::NEVER,
        }
    }

    /// The same, of the virtual users of this share.
    pub(crate) fn with_users(self, segment: Segment, same_users: Vec<(UserIndex, UserIndex)>) -> Self {
        Network { segment, same_users, ..self }
    }

    /// Whose connections a virtual user has.
    fn owner_for(&self, user: UserIndex) -> UserIndex {
        if self.same_users.is_empty() {
            return user;
        }
        let found = self.same_users.binary_search_by_key(&user, |(further, _)| *further);
        found.map_or(user, |at| self.same_users[at].1)
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.connections.len()
    }

    /// Set the instant at which the loop woke up for the events that follow.
    pub(crate) fn woke(&mut self, at: Instant) {
        self.woke = at;
    }

    /// When there is something to do next that no event announces.
    pub(crate) fn next_due(&self) -> Instant {
        self.next_race().min(self.closing.next()).min(self.ports_tried_at)
    }

    /// Do what is due without an event.
    pub(crate) fn do_due(&mut self, now: Instant, operations: &mut Operations) -> Result<(), Exhausted> {
        self.begin_races(now);
        self.close_overdue(now);
        self.retry_ports(now, operations)
    }

    fn connection(&self, index: ConnectionIndex) -> &Connection {
        &self.connections[index.0]
    }

    fn connection_mut(&mut self, index: ConnectionIndex) -> &mut Connection {
        &mut self.connections[index.0]
    }

    /// Write what `submit`, `ready` and `abandon` have left in outgoing buffers, and start waiting operations
    /// where a shared connection has capacity again.
    pub(crate) fn flush(&mut self, operations: &mut Operations) -> Result<(), Exhausted> {
        // Reading the clock is not free: the end of one write is the begin of the next.
        let mut last_write = None;
        while let Some(index) = self.dirty.pop() {
            self.fill(index, operations)?;
            let Some(connection) = self.connections.get_mut(index.0) else { continue };
            connection.is_dirty = false;
            if !connection.has_outgoing() {
                continue;
            }
            connection.note_sent(operations, *last_write.get_or_insert_with(|| self.clock.now()));
            match connection.write() {
                Ok(()) => {
                    let now = self.clock.now();
                    last_write = Some(now);
                    connection.note_written(operations, now);
                }
                Err(loss) => {
                    self.write_failed(index, &loss, operations)?;
                    continue;
                }
            }
            // What was written may have made capacity.
            self.fill(index, operations)?;
        }
        Ok(())
    }

    /// Nothing more can be written: the peer has closed the connection. What it sent before that is still to be read: an early
    /// answer, or which requests it has not processed.
    #[cold]
    #[inline(never)]
    fn write_failed(
        &mut self,
        index: ConnectionIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let serial = self.connection(index).serial;
        self.discount(index);
        self.read(index, ReadUntil::EndOfStream, operations)?;
        match self.connections.get(index.0) {
            Some(connection) if connection.serial == serial => self.kill(index, loss, operations),
            _ => Ok(()),
        }
    }

    /// Whether something is there to be read that no event will announce.
    pub(crate) fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Read on where the last turn left something.
    pub(crate) fn read_on(&mut self, operations: &mut Operations) -> Result<(), Exhausted> {
        for index in std::mem::take(&mut self.unread) {
            // Another connection may have taken its place, and there is nothing to be read before it is connected.
            let Some(connection) = self.connections.get_mut(index.0) else { continue };
            connection.is_unread = false;
            if connection.state != ConnectionState::Connecting {
                self.read(index, ReadUntil::EndOfStream, operations)?;
            }
        }
        Ok(())
    }

    /// Handle a readiness event of a connection.
    pub(crate) fn ready(&mut self, event: &Event, operations: &mut Operations) -> Result<(), Exhausted> {
        let index = ConnectionIndex(event.token().0 - FIRST_CONNECTION);
        let Some(connection) = self.connections.get_mut(index.0) else { return Ok(()) };
        if connection.state == ConnectionState::Connecting {
            if !event.is_writable() && !event.is_error() && !event.is_write_closed() {
                return Ok(());
            }
            let origin = self.program.origin(connection.origin);
            match connection.finish_connecting(origin, &self.registry, self.clock.now()) {
                Ok(false) => return Ok(()),
                Ok(true) => self.advanced(index, operations)?,
                Err(loss) => return self.failed_to_connect(index, &loss, operations),
            }
        } else if event.is_writable() {
            self.mark_dirty(index);
        }
        let is_at_end = event.is_read_closed() || event.is_error();
        if event.is_readable() || is_at_end {
            let until = if is_at_end { ReadUntil::EndOfStream } else { ReadUntil::ShortRead };
            self.read(index, until, operations)?;
        }
        Ok(())
    }

    fn mark_dirty(&mut self, index: ConnectionIndex) {
        let connection = self.connection_mut(index);
        if !connection.is_dirty {
            connection.is_dirty = true;
            self.dirty.push(index);
        }
    }

    fn read(
        &mut self,
        index: ConnectionIndex,
        until: ReadUntil,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let serial = self.connection(index).serial;
        for _ in 0..READS_A_TURN {
            // Another one may have taken its place.
            let connection =
                self.connections.get_mut(index.0).filter(|connection| connection.serial == serial);
            let Some(connection) = connection else { return Ok(()) };
            let state = connection.state;
            let (ended, received, heads) = (&mut self.ended, &mut self.received, &mut self.heads);
            let mut sink = ResponseSink { operations, ended, received, heads, at: self.woke };
            match connection.read(&mut self.buffer, &mut sink) {
                Ok(0) => {
                    let loss = connection.at_end(&mut sink);
                    return self.kill(index, &loss, operations);
                }
                Ok(n) => {
                    if state != connection.state {
                        self.advanced(index, operations)?;
                    }
                    self.after_read(index, operations)?;
                    // A short read has emptied the socket, so another would only fail with "would block"; but
                    // where the peer has closed its side, that end is still to be read.
                    if n < self.buffer.len() && until == ReadUntil::ShortRead {
                        return Ok(());
                    }
                }
                Err(ReadError::WouldBlock) => return Ok(()),
                Err(ReadError::Failed(loss)) => return self.kill(index, &loss, operations),
            }
        }
        if let Some(connection) = self.connections.get_mut(index.0).filter(|connection| !connection.is_unread)
        {
            connection.is_unread = true;
            self.unread.push(index);
        }
        Ok(())
    }

    /// After bytes were received: put an idle connection back, close a used-up one, use capacity that became free.
    fn after_read(&mut self, index: ConnectionIndex, operations: &mut Operations) -> Result<(), Exhausted> {
        let Some(connection) = self.connections.get_mut(index.0) else { return Ok(()) };
        if connection.has_outgoing() {
            self.mark_dirty(index);
        }
        let connection = self.connection_mut(index);
        if connection.state != ConnectionState::Open {
            return Ok(());
        }
        let is_shared = self.is_shared(index);
        let connection = self.connection(index);
        let may_take_more = match is_shared {
            true if !connection.wire.reusable() || !connection.is_counted => true,
            true => self.pools.get(connection.pool).has_waiting(),
            false => connection.is_finished(),
        };
        if may_take_more { self.use_capacity(index, operations) } else { Ok(()) }
    }
}
