//! The sockets of one loop: connections, which request goes over which, bytes in and out.
//!
//! It knows nothing of scenarios or time limits. What ends on the wire it puts into a list that the loop
//! empties; what fails because the generator itself has run out of something is an error.

mod collector;
mod connection;
mod exhausted;
mod pool;
mod protocol;

use std::sync::Arc;

use evidence::Outcome;
use mio::event::Event;
use mio::{Registry, Token};
use slab::Slab;

use crate::clock::Clock;
use crate::operation::{Ended, OperationToken, Operations};
use crate::program::{Program, Speaks};
use connection::{Connection, State};
pub use exhausted::Exhausted;
use exhausted::{exhausted, outcome_of};
use pool::Pool;

/// Tokens below this are not connections.
pub(crate) const FIRST_CONNECTION: usize = 2;
const READ_BUFFER_BYTES: usize = 128 * 1024;

/// The sockets of one loop.
#[derive(Debug)]
pub(crate) struct Network {
    program: Arc<Program>,
    clock: Clock,
    registry: Registry,
    connections: Slab<Connection>,
    pools: Vec<Pool>,
    buffer: Box<[u8]>,
    /// What has ended since the loop last looked.
    pub(crate) ended: Vec<Ended>,
    dirty: Vec<usize>,
    /// Counts connections, so that each has a serial of its own.
    opened: u32,
    /// What a lost connection carried; empty but while one is killed.
    lost: Vec<OperationToken>,
}

impl Network {
    pub(crate) fn new(program: Arc<Program>, clock: Clock, registry: Registry) -> Self {
        let pools = program.origins.iter().map(|_| Pool::default()).collect();
        Network {
            program,
            clock,
            registry,
            connections: Slab::new(),
            pools,
            buffer: vec![0; READ_BUFFER_BYTES].into(),
            ended: Vec::new(),
            dirty: Vec::new(),
            opened: 0,
            lost: Vec::new(),
        }
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.connections.len()
    }

    /// Send the operation's request as soon as a connection has room for it; its end, which may come at
    /// once, will be in `ended`.
    pub(crate) fn submit(&mut self, operation: u32, operations: &mut Operations) -> Result<(), Exhausted> {
        let origin = operations.get(operation).draft.origin;
        match self.program.origins[origin].speaks {
            Speaks::Http1 => self.submit_alone(origin, operation, operations),
            Speaks::Http2 => self.submit_shared(origin, operation, operations),
        }
    }

    /// Write what `submit`, `ready` and `abandon` have left in outgoing buffers, and give the room that was
    /// left to operations that wait for it.
    pub(crate) fn flush(&mut self, operations: &mut Operations) -> Result<(), Exhausted> {
        while let Some(place) = self.dirty.pop() {
            self.start_waiting(place, operations);
            if let Some(connection) = self.connections.get_mut(place) {
                connection.is_dirty = false;
                if let Err(error) = connection.write() {
                    self.kill(place, (outcome_of(&error), operations))?;
                }
            }
        }
        Ok(())
    }

    /// Give up on an operation: nothing of it will arrive any more, and it is not put into `ended`.
    pub(crate) fn abandon(&mut self, operation: u32, operations: &mut Operations) -> Result<(), Exhausted> {
        let Some(place) = operations.get(operation).connection else {
            let origin = operations.get(operation).draft.origin;
            self.pools[origin].waiting.leave(operation, operations);
            return Ok(());
        };
        operations.get_mut(operation).connection = None;
        let connection = &mut self.connections[place];
        connection.forget(operation, operations.token(operation));
        if connection.speaks() == Speaks::Http1 {
            self.close(place);
        } else {
            self.mark_dirty(place);
        }
        Ok(())
    }

    /// Something happened on a connection.
    pub(crate) fn ready(&mut self, event: &Event, operations: &mut Operations) -> Result<(), Exhausted> {
        let place = event.token().0 - FIRST_CONNECTION;
        let Some(connection) = self.connections.get_mut(place) else { return Ok(()) };
        if connection.state == State::Connecting {
            if !event.is_writable() && !event.is_error() && !event.is_write_closed() {
                return Ok(());
            }
            match connection.establish() {
                Ok(false) => return Ok(()),
                Ok(true) => self.start_queued(place, operations),
                Err(error) => return self.kill(place, (outcome_of(&error), operations)),
            }
        } else if event.is_writable() {
            self.mark_dirty(place);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.read(place, (event.is_read_closed() || event.is_error(), operations))?;
        }
        Ok(())
    }

    fn submit_alone(
        &mut self,
        origin: usize,
        operation: u32,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        match self.pools[origin].take_idle(&self.connections) {
            Some(place) => {
                self.start(place, operation, operations);
                Ok(())
            }
            None => self.connect(origin, Some(operation), operations),
        }
    }

    fn submit_shared(
        &mut self,
        origin: usize,
        operation: u32,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let pool = &mut self.pools[origin];
        if pool.waiting.is_empty()
            && let Some(place) = pool.with_room(&self.connections)
        {
            self.start(place, operation, operations);
            return Ok(());
        }
        pool.waiting.join(operation, operations);
        if pool.shared_count() < self.program.origins[origin].connections {
            self.connect(origin, None, operations)?;
        }
        Ok(())
    }

    fn connect(
        &mut self,
        origin: usize,
        first: Option<u32>,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let described = &self.program.origins[origin];
        let entry = self.connections.vacant_entry();
        let place = entry.key();
        let opened = Connection::open(origin, described, (&self.registry, Token(place + FIRST_CONNECTION)));
        match opened {
            Ok(mut connection) => {
                connection.serial = self.opened;
                self.opened = self.opened.wrapping_add(1);
                if let Some(operation) = first {
                    connection.queued = Some(operation);
                    operations.get_mut(operation).connection = Some(place);
                } else {
                    connection.slot = self.pools[origin].share(place);
                }
                entry.insert(connection);
                Ok(())
            }
            Err(error) => {
                exhausted(&error)?;
                let transport = Some(outcome_of(&error));
                let first = first.map(|place| operations.token(place));
                self.ended.extend(first.map(|operation| Ended { operation, transport }));
                self.fail_waiting(origin, (outcome_of(&error), operations));
                Ok(())
            }
        }
    }

    /// A connection has just been established: send what waits for it.
    fn start_queued(&mut self, place: usize, operations: &mut Operations) {
        if let Some(operation) = self.connections[place].queued.take() {
            self.start(place, operation, operations);
        }
        // The preface of a fresh connection is sent even if nothing waits for it any more.
        self.mark_dirty(place);
    }

    fn start_waiting(&mut self, place: usize, operations: &mut Operations) {
        let Some(connection) = self.connections.get(place) else { return };
        if connection.speaks() == Speaks::Http1 || connection.state != State::Open {
            return;
        }
        let origin = connection.origin;
        while self.connections[place].wire.capacity() > 0 {
            let Some(operation) = self.pools[origin].waiting.next(operations) else { break };
            self.start(place, operation, operations);
        }
    }

    fn start(&mut self, place: usize, operation: u32, operations: &mut Operations) {
        let token = operations.token(operation);
        let described = &self.program.origins[self.connections[place].origin];
        let now = self.clock.now();
        let entry = operations.get_mut(operation);
        let started = self.connections[place].start((operation, token), described, entry);
        match started {
            Ok(()) => {
                entry.connection = Some(place);
                entry.sent = now;
                self.mark_dirty(place);
            }
            Err(error) => {
                entry.connection = None;
                entry.unsendable = Some(error);
                self.ended.push(Ended { operation: token, transport: Some(Outcome::Protocol) });
                self.put_back(place);
            }
        }
    }

    /// A connection whose request could not be put on the wire is as good as before.
    fn put_back(&mut self, place: usize) {
        let connection = &self.connections[place];
        if connection.speaks() == Speaks::Http2 {
            return;
        }
        if connection.wire.reusable() {
            self.pools[connection.origin].put_idle((place, connection.serial));
        } else {
            self.close(place);
        }
    }

    fn mark_dirty(&mut self, place: usize) {
        let connection = &mut self.connections[place];
        if !connection.is_dirty {
            connection.is_dirty = true;
            self.dirty.push(place);
        }
    }

    fn read(
        &mut self,
        place: usize,
        (to_the_end, operations): (bool, &mut Operations),
    ) -> Result<(), Exhausted> {
        loop {
            let Some(connection) = self.connections.get_mut(place) else { return Ok(()) };
            match connection.read(&mut self.buffer, operations, &mut self.ended) {
                Ok(0) => {
                    let lost = connection.at_end(operations, &mut self.ended);
                    return self.kill(place, (lost, operations));
                }
                Ok(n) => {
                    self.settle(place, operations)?;
                    // A short read has emptied the socket, so another would only say "would block"; but
                    // where the peer has closed its side, that end is still to be read.
                    if n < self.buffer.len() && !to_the_end {
                        return Ok(());
                    }
                }
                Err(connection::ReadError::WouldBlock) => return Ok(()),
                Err(connection::ReadError::Failed(outcome)) => {
                    return self.kill(place, (outcome, operations));
                }
            }
        }
    }

    /// After bytes were taken in: put an idle connection back, close a spent one, use freed room.
    fn settle(&mut self, place: usize, operations: &mut Operations) -> Result<(), Exhausted> {
        let connection = &mut self.connections[place];
        if connection.wire.has_outgoing() {
            self.mark_dirty(place);
        }
        let connection = &mut self.connections[place];
        match connection.speaks() {
            Speaks::Http1 if connection.has_just_finished() => {
                if connection.wire.reusable() {
                    self.pools[connection.origin].put_idle((place, connection.serial));
                } else {
                    self.close(place);
                }
            }
            Speaks::Http1 => {}
            Speaks::Http2 => {
                let origin = connection.origin;
                if !connection.wire.reusable() {
                    self.pools[origin].unshare(place, &mut self.connections);
                    if self.connections[place].wire.open_requests() == 0 {
                        self.close(place);
                    }
                    return self.replace(origin, operations);
                } else if !self.pools[origin].waiting.is_empty() {
                    self.start_waiting(place, operations);
                }
            }
        }
        Ok(())
    }

    /// Open a connection for operations that wait, where none is left that could ever take them.
    fn replace(&mut self, origin: usize, operations: &mut Operations) -> Result<(), Exhausted> {
        let pool = &self.pools[origin];
        if pool.waiting.is_empty() || pool.shared_count() > 0 {
            return Ok(());
        }
        self.connect(origin, None, operations)
    }

    /// End a connection; every request on it ends with `outcome`.
    fn kill(
        &mut self,
        place: usize,
        (outcome, operations): (Outcome, &mut Operations),
    ) -> Result<(), Exhausted> {
        let origin = self.connections[place].origin;
        let was_connecting = self.connections[place].state == State::Connecting;
        let mut lost = std::mem::take(&mut self.lost);
        self.connections[place].carried(operations, &mut lost);
        for operation in lost.drain(..) {
            let Some((_, entry)) = operations.find(operation.0) else { continue };
            entry.connection = None;
            entry.bytes_in = self.connections[place].take_unclaimed();
            self.ended.push(Ended { operation, transport: Some(outcome) });
        }
        self.lost = lost;
        self.close(place);
        if was_connecting && self.pools[origin].shared_count() == 0 {
            self.fail_waiting(origin, (outcome, operations));
            return Ok(());
        }
        self.replace(origin, operations)
    }

    /// No connection can be had: whoever waits for one of the origin's fails.
    fn fail_waiting(&mut self, origin: usize, (outcome, operations): (Outcome, &mut Operations)) {
        while let Some(operation) = self.pools[origin].waiting.next(operations) {
            let operation = operations.token(operation);
            self.ended.push(Ended { operation, transport: Some(outcome) });
        }
    }

    fn close(&mut self, place: usize) {
        if !self.connections.contains(place) {
            return;
        }
        let origin = self.connections[place].origin;
        self.pools[origin].unshare(place, &mut self.connections);
        let mut connection = self.connections.remove(place);
        connection.deregister(&self.registry);
    }
}
