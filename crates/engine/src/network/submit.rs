//! Which connection a request goes over, and when it must wait for one.

use evidence::Outcome;
use workload::connection::Reuse;

use super::{Exhausted, Network, State};
use crate::operation::{Ended, Operations};
use crate::program::Speaks;

impl Network {
    /// Send the operation's request as soon as a connection has room for it; its end, which may come at
    /// once, will be in `ended`.
    pub(crate) fn submit(&mut self, operation: u32, operations: &mut Operations) -> Result<(), Exhausted> {
        let origin = operations.get(operation).draft.origin;
        if self.is_sharing(origin) {
            self.submit_shared(origin, operation, operations)
        } else {
            self.submit_alone(origin, operation, operations)
        }
    }

    /// Give up on an operation: nothing of it will arrive any more, and it is not put into `ended`.
    pub(crate) fn abandon(&mut self, operation: u32, operations: &mut Operations) -> Result<(), Exhausted> {
        let entry = operations.get_mut(operation);
        let origin = entry.draft.origin;
        let Some(place) = entry.connection.take() else {
            self.pools[origin].waiting.leave(operation, operations);
            return Ok(());
        };
        self.connections[place].forget(operation, operations.token(operation));
        if self.is_shared(place) {
            self.mark_dirty(place);
            return Ok(());
        }
        self.close(place);
        self.replace(origin, operations)
    }

    /// The virtual user's iteration is over, and with it the life of its own connections.
    pub(crate) fn end_iteration(&mut self, user: u32, operations: &mut Operations) -> Result<(), Exhausted> {
        for nth in 0..self.ephemeral.len() {
            let origin = self.ephemeral[nth];
            while let Some(place) = self.pools[origin].take_owned(user, &self.connections) {
                self.close(place);
            }
            self.replace(origin, operations)?;
        }
        Ok(())
    }

    /// Whether requests to this origin share connections; also while that is still to be agreed on.
    pub(super) fn is_sharing(&self, origin: usize) -> bool {
        self.program.origins[origin].reuse == Reuse::Always
            && self.pools[origin].speaks != Some(Speaks::Http1)
    }

    /// Whether this connection carries many requests at once.
    pub(super) fn is_shared(&self, place: usize) -> bool {
        let connection = &self.connections[place];
        connection.speaks() == Speaks::Http2
            && connection.state == State::Open
            && self.program.origins[connection.origin].reuse == Reuse::Always
    }

    /// Whether another connection may be opened.
    fn has_room(&self, origin: usize) -> bool {
        let pool = &self.pools[origin];
        pool.count < self.program.origins[origin].most_connections(pool.speaks.unwrap_or(Speaks::Http2))
    }

    fn submit_alone(
        &mut self,
        origin: usize,
        operation: u32,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let pool = &mut self.pools[origin];
        let free = match self.program.origins[origin].reuse {
            Reuse::Always => pool.take_idle(&self.connections),
            Reuse::Iteration => pool.take_owned(operations.get(operation).owner, &self.connections),
            Reuse::Never => None,
        };
        match free {
            Some(place) if self.start(place, operation, operations) => Ok(()),
            Some(place) => self.finished(place, operations),
            None if self.has_room(origin) => self.connect(origin, Some(operation), operations),
            None => {
                self.pools[origin].waiting.join(operation, operations);
                Ok(())
            }
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
            && let Some(place) = pool.with_room(operations.get(operation).seat, &self.connections)
        {
            self.start(place, operation, operations);
            return Ok(());
        }
        pool.waiting.join(operation, operations);
        if self.has_room(origin) {
            self.connect(origin, None, operations)?;
        }
        Ok(())
    }

    /// Give the room of a shared connection to operations that wait for it.
    pub(super) fn start_waiting(&mut self, place: usize, operations: &mut Operations) {
        let Some(connection) = self.connections.get(place) else { return };
        let origin = connection.origin;
        if self.pools[origin].waiting.is_empty() || !self.is_shared(place) {
            return;
        }
        while self.connections[place].wire.capacity() > 0 {
            let Some(operation) = self.pools[origin].waiting.next(operations) else { break };
            self.start(place, operation, operations);
        }
    }

    /// Put a request on the wire. False when that cannot be done, and the request has failed: the connection
    /// is then as good as before.
    pub(super) fn start(&mut self, place: usize, operation: u32, operations: &mut Operations) -> bool {
        let token = operations.token(operation);
        let described = &self.program.origins[self.connections[place].origin];
        let now = self.clock.now();
        let entry = operations.get_mut(operation);
        match self.connections[place].start((operation, token), described, entry) {
            Ok(()) => {
                entry.connection = Some(place);
                entry.sent = entry.sent.min(now);
                self.mark_dirty(place);
                true
            }
            Err(error) => {
                entry.connection = None;
                entry.unsendable = Some(error);
                self.ended.push(Ended { operation: token, transport: Some(Outcome::Protocol) });
                false
            }
        }
    }

    /// An unshared connection has no request: it serves whoever waits, rests, or has served its time.
    pub(super) fn finished(&mut self, place: usize, operations: &mut Operations) -> Result<(), Exhausted> {
        let connection = &self.connections[place];
        let (origin, ticket, owner) = (connection.origin, (place, connection.serial), connection.owner);
        let reuse = self.program.origins[origin].reuse;
        if !connection.wire.reusable() || reuse == Reuse::Never {
            self.close(place);
            return self.replace(origin, operations);
        }
        if reuse == Reuse::Iteration {
            self.pools[origin].put_owned(owner, ticket);
            return Ok(());
        }
        while let Some(operation) = self.pools[origin].waiting.next(operations) {
            if self.start(place, operation, operations) {
                return Ok(());
            }
        }
        self.pools[origin].put_idle(ticket);
        Ok(())
    }

    /// Open connections for operations that wait, where none is left that could take them.
    pub(super) fn replace(&mut self, origin: usize, operations: &mut Operations) -> Result<(), Exhausted> {
        if self.is_sharing(origin) {
            let pool = &self.pools[origin];
            return match pool.waiting.is_empty() || pool.count > 0 {
                true => Ok(()),
                false => self.connect(origin, None, operations),
            };
        }
        while self.has_room(origin)
            && let Some(operation) = self.pools[origin].waiting.next(operations)
        {
            self.connect(origin, Some(operation), operations)?;
        }
        Ok(())
    }
}
