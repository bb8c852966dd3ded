//! The sockets of one loop: connections, which request goes over which, bytes in and out.
//!
//! It knows nothing of scenarios or time limits. What ends on the wire it puts into a list that the loop
//! empties; what fails because the generator itself has run out of something is an error.

mod collector;
mod connection;
mod exhausted;
mod lifecycle;
mod lost;
mod pool;
mod protocol;
mod relay;
mod streams;
mod submit;
mod transport;
mod tunnel;

use std::sync::Arc;

use evidence::Instant;
use mio::Registry;
use mio::event::Event;
use slab::Slab;
use workload::connection::Reuse;

use crate::clock::Clock;
use crate::operation::{Ended, Opening, OperationToken, Operations};
use crate::program::Program;
use connection::{Connection, State};
pub use exhausted::Exhausted;
use lost::Lost;
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
    /// When the loop learnt of the events that it handles now: what is read had come by then.
    woke: Instant,
    /// Connections that were opened since the loop last looked: their origin, and how long that took.
    pub(crate) established: Vec<(usize, Opening)>,
    /// Origins whose connections live as long as an iteration.
    ephemeral: Vec<usize>,
    /// What a lost connection carried; empty but while one is killed.
    lost: Vec<OperationToken>,
}

impl Network {
    pub(crate) fn new(program: Arc<Program>, clock: Clock, registry: Registry) -> Self {
        let pools = program.origins.iter().map(|o| Pool::new(o.speaks)).collect();
        let is_ephemeral = |place: &usize| program.origins[*place].reuse == Reuse::Iteration;
        let ephemeral = (0..program.origins.len()).filter(is_ephemeral).collect();
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
            woke: Instant::EPOCH,
            established: Vec::new(),
            ephemeral,
            lost: Vec::new(),
        }
    }

    pub(crate) fn open_connections(&self) -> usize {
        self.connections.len()
    }

    /// The events that follow were learnt of at this instant.
    pub(crate) fn woke(&mut self, at: Instant) {
        self.woke = at;
    }

    /// Write what `submit`, `ready` and `abandon` have left in outgoing buffers, and give the room that was
    /// left to operations that wait for it.
    pub(crate) fn flush(&mut self, operations: &mut Operations) -> Result<(), Exhausted> {
        while let Some(place) = self.dirty.pop() {
            self.start_waiting(place, operations);
            if let Some(connection) = self.connections.get_mut(place) {
                connection.is_dirty = false;
                match connection.write() {
                    Ok(()) if connection.has_outgoing() => {}
                    Ok(()) => connection.note_written(operations, self.clock.now()),
                    Err(lost) => self.kill(place, (&lost, operations))?,
                }
            }
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
            match connection.establish(&self.program.origins[connection.origin], self.clock.now()) {
                Ok(false) => return Ok(()),
                Ok(true) => self.established(place, operations)?,
                Err(lost) => return self.failed_to_connect(place, (&lost, operations)),
            }
        } else if event.is_writable() {
            self.mark_dirty(place);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            self.read(place, (event.is_read_closed() || event.is_error(), operations))?;
        }
        Ok(())
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
            let state = connection.state;
            match connection.read(&mut self.buffer, (operations, self.woke), &mut self.ended) {
                Ok(0) => {
                    let lost = connection.at_end((operations, self.woke), &mut self.ended);
                    return self.kill(place, (&lost, operations));
                }
                Ok(n) => {
                    if state != connection.state {
                        self.established(place, operations)?;
                    }
                    self.settle(place, operations)?;
                    // A short read has emptied the socket, so another would only say "would block"; but
                    // where the peer has closed its side, that end is still to be read.
                    if n < self.buffer.len() && !to_the_end {
                        return Ok(());
                    }
                }
                Err(connection::ReadError::WouldBlock) => return Ok(()),
                Err(connection::ReadError::Failed(lost)) => {
                    return self.kill(place, (&lost, operations));
                }
            }
        }
    }

    /// After bytes were taken in: put an idle connection back, close a spent one, use freed room.
    fn settle(&mut self, place: usize, operations: &mut Operations) -> Result<(), Exhausted> {
        let Some(connection) = self.connections.get_mut(place) else { return Ok(()) };
        if connection.has_outgoing() {
            self.mark_dirty(place);
        }
        let connection = &mut self.connections[place];
        if connection.state != State::Open {
            return Ok(());
        }
        let origin = connection.origin;
        if !self.is_shared(place) {
            let finished = self.connections[place].has_just_finished();
            return if finished { self.finished(place, operations) } else { Ok(()) };
        }
        if !self.connections[place].wire.reusable() {
            self.discount(place);
            if self.connections[place].wire.open_requests() == 0 {
                self.close(place);
            }
            return self.replace(origin, operations);
        }
        if !self.pools[origin].waiting.is_empty() {
            self.start_waiting(place, operations);
        }
        Ok(())
    }
}
