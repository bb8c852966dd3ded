//! How connections begin and end.

use evidence::Outcome;
use mio::Token;

use super::connection::Connection;
use super::exhausted::exhausted;
use super::{Exhausted, FIRST_CONNECTION, Lost, Network, State};
use crate::operation::{Ended, Operations};

impl Network {
    /// Open a connection, for this request or for any that waits.
    pub(super) fn connect(
        &mut self,
        origin: usize,
        first: Option<u32>,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let described = &self.program.origins[origin];
        let pool = &mut self.pools[origin];
        let entry = self.connections.vacant_entry();
        let place = entry.key();
        let token = Token(place + FIRST_CONNECTION);
        let opened =
            Connection::open(origin, (described, pool.opened, self.clock.now()), (&self.registry, token));
        pool.opened = pool.opened.wrapping_add(1);
        match opened {
            Ok(mut connection) => {
                connection.serial = self.opened;
                self.opened = self.opened.wrapping_add(1);
                pool.count += 1;
                if let Some(operation) = first {
                    connection.queued = first;
                    let operation = operations.get_mut(operation);
                    connection.owner = operation.owner;
                    operation.connection = Some(place);
                }
                entry.insert(connection);
            }
            Err(error) => {
                exhausted(&error)?;
                let lost = Lost::from(&error);
                match first {
                    Some(operation) => self.fail(operation, (&lost, operations)),
                    None => self.fail_waiting(origin, (&lost, operations)),
                }
            }
        }
        Ok(())
    }

    /// The socket is connected; what was begun with it is a handshake or the protocol itself.
    pub(super) fn established(&mut self, place: usize, operations: &mut Operations) -> Result<(), Exhausted> {
        self.mark_dirty(place);
        match self.connections[place].state {
            State::Open => self.opened(place, operations),
            State::Connecting | State::Tunnelling | State::Handshaking => Ok(()),
        }
    }

    /// A connection can be used from now on, and what it speaks is known: send what waits for it.
    pub(super) fn opened(&mut self, place: usize, operations: &mut Operations) -> Result<(), Exhausted> {
        // The preface of a fresh connection is sent even if nothing waits for it any more.
        self.mark_dirty(place);
        let connection = &mut self.connections[place];
        let (origin, queued, speaks) = (connection.origin, connection.queued.take(), connection.speaks());
        let opening = connection.opening;
        self.established.push((origin, opening));
        if let Some(operation) = queued {
            operations.get_mut(operation).opening = opening;
        }
        let is_news = self.pools[origin].speaks.replace(speaks) != Some(speaks);
        if self.is_shared(place) {
            self.connections[place].slot = self.pools[origin].share(place);
            if let Some(operation) = queued {
                self.start(place, operation, operations);
            }
            self.start_waiting(place, operations);
        } else if !queued.is_some_and(|operation| self.start(place, operation, operations)) {
            self.finished(place, operations)?;
        }
        if is_news {
            self.replace(origin, operations)?;
        }
        Ok(())
    }

    /// This address does not take the connection: the next one may.
    pub(super) fn failed_to_connect(
        &mut self,
        place: usize,
        (lost, operations): (&Lost, &mut Operations),
    ) -> Result<(), Exhausted> {
        let connection = &mut self.connections[place];
        let route = &self.program.origins[connection.origin].route;
        if connection.try_next(route, (&self.registry, Token(place + FIRST_CONNECTION))) {
            return Ok(());
        }
        self.kill(place, (lost, operations))
    }

    /// End a connection; every request on it ends as it does.
    pub(super) fn kill(
        &mut self,
        place: usize,
        (lost, operations): (&Lost, &mut Operations),
    ) -> Result<(), Exhausted> {
        let connection = &mut self.connections[place];
        let (origin, was_open) = (connection.origin, connection.state == State::Open);
        let mut carried = std::mem::take(&mut self.lost);
        connection.carried(operations, &mut carried);
        for operation in carried.drain(..) {
            let Some((place, entry)) = operations.find(operation.0) else { continue };
            entry.bytes_in = connection.take_unclaimed();
            fail(&mut self.ended, place, (lost, operations));
        }
        self.lost = carried;
        self.close(place);
        if !was_open && self.is_sharing(origin) && self.pools[origin].count == 0 {
            self.fail_waiting(origin, (lost, operations));
            return Ok(());
        }
        self.replace(origin, operations)
    }

    /// No connection can be had: whoever waits for one of the origin's fails.
    fn fail_waiting(&mut self, origin: usize, (lost, operations): (&Lost, &mut Operations)) {
        while let Some(operation) = self.pools[origin].waiting.next(operations) {
            self.fail(operation, (lost, operations));
        }
    }

    fn fail(&mut self, operation: u32, (lost, operations): (&Lost, &mut Operations)) {
        fail(&mut self.ended, operation, (lost, operations));
    }

    pub(super) fn close(&mut self, place: usize) {
        if !self.connections.contains(place) {
            return;
        }
        self.discount(place);
        let mut connection = self.connections.remove(place);
        connection.deregister(&self.registry);
    }

    /// The connection takes no more requests, and another may be opened instead.
    pub(super) fn discount(&mut self, place: usize) {
        let connection = &mut self.connections[place];
        let pool = &mut self.pools[connection.origin];
        if std::mem::take(&mut connection.is_counted) {
            pool.count -= 1;
            pool.unshare(place, &mut self.connections);
        }
    }
}

fn fail(ended: &mut Vec<Ended>, operation: u32, (lost, operations): (&Lost, &mut Operations)) {
    let token = operations.token(operation);
    let entry = operations.get_mut(operation);
    entry.connection = None;
    entry.trouble.clone_from(&lost.reason);
    let transport: Option<Outcome> = Some(lost.outcome);
    ended.push(Ended { operation: token, transport });
}
