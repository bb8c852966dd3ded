//! How connections begin and end.

use super::connection::{Connection, ConnectionTarget, Registration};
use super::exhausted::check_exhausted;
use super::{
    ConnectionLoss, ConnectionState, EndedOperation, EstablishedConnection, Exhausted, Network, Processing,
    token_of,
};
use crate::index::{ConnectionIndex, OperationIndex, PoolIndex};
use crate::operation::{Operations, Place};

impl Network {
    /// Open a connection, for this request or for any that waits.
    pub(super) fn connect(
        &mut self,
        pool: PoolIndex,
        first: Option<OperationIndex>,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let entry = self.pools.get_mut(pool);
        let described = self.program.origin(entry.origin);
        let vacant = self.connections.vacant_entry();
        let index = ConnectionIndex(vacant.key());
        let target =
            ConnectionTarget { pool, origin: entry.origin, described, address: entry.next_address() };
        let registration = Registration { registry: &self.registry, token: token_of(index) };
        let mut connection = match Connection::open(target, registration, self.clock.now()) {
            Ok(connection) => connection,
            Err(error) => {
                check_exhausted(&error)?;
                let loss = ConnectionLoss::from(&error);
                match first {
                    Some(operation) => self.fail(operation, &loss, Processing::Possible, operations),
                    None => self.fail_waiting(pool, &loss, operations),
                }
                return Ok(());
            }
        };
        connection.serial = self.opened;
        self.opened = self.opened.wrapping_add(1);
        entry.count += 1;
        connection.queued = first;
        match first {
            Some(operation) => operations.get_mut(operation).place = Place::Opening(index),
            None => entry.begin_opening(index),
        }
        vacant.insert(connection);
        Ok(())
    }

    /// The socket is connected, and a handshake, a tunnel or the protocol itself was begun on it.
    pub(super) fn established(
        &mut self,
        index: ConnectionIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        // The preface of a fresh connection is sent even if nothing waits for it any more.
        self.mark_dirty(index);
        if self.connection(index).state == ConnectionState::Open {
            self.opened(index, operations)?;
        }
        Ok(())
    }

    /// A connection can be used from now on, and its protocol is known: send what waits for it.
    fn opened(&mut self, index: ConnectionIndex, operations: &mut Operations) -> Result<(), Exhausted> {
        let connection = self.connection_mut(index);
        let (pool, protocol, begun) = (connection.pool, connection.protocol(), connection.begun);
        let (origin, setup, queued) = (connection.origin, connection.setup, connection.queued.take());
        self.established.push(EstablishedConnection { origin, setup });
        let entry = self.pools.get_mut(pool);
        entry.end_opening(index);
        entry.protocol = Some(protocol);
        // A request that was made before the connection was begun has waited for all of it.
        let first = queued.or_else(|| entry.next_waiting(&self.clock, operations));
        let is_shared = self.is_shared(index);
        if is_shared {
            self.connection_mut(index).shared_position = self.pools.get_mut(pool).share(index);
        }
        let is_in_use = first.is_some_and(|operation| {
            let entry = operations.get_mut(operation);
            if queued.is_some() || entry.begun_at <= begun {
                entry.setup = setup;
            }
            self.start(index, operation, operations)
        });
        if is_shared || !is_in_use {
            self.settle(index, operations)?;
        }
        self.grow(pool, operations)
    }

    /// This address does not accept the connection: try the next one.
    pub(super) fn failed_to_connect(
        &mut self,
        index: ConnectionIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let connection = &mut self.connections[index.0];
        let route = &self.program.origin(connection.origin).route;
        let registration = Registration { registry: &self.registry, token: token_of(index) };
        if connection.try_next(route, registration) {
            return Ok(());
        }
        self.kill(index, loss, operations)
    }

    /// End a connection; every request on it ends with the same loss.
    pub(super) fn kill(
        &mut self,
        index: ConnectionIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let connection = &mut self.connections[index.0];
        let (pool, was_open) = (connection.pool, connection.state == ConnectionState::Open);
        let mut carried = std::mem::take(&mut self.carried);
        connection.take_carried(operations, &mut carried);
        for token in carried.drain(..) {
            let Some(operation) = operations.find(token) else { continue };
            let connection = &mut self.connections[index.0];
            let processing = connection.processing_of(operation);
            operation.bytes_in = connection.take_unclaimed();
            self.fail(token.index(), loss, processing, operations);
        }
        self.carried = carried;
        self.close(index);
        let entry = self.pools.get(pool);
        match was_open || !entry.is_multiplexed() {
            true => self.grow(pool, operations),
            // The others may still open.
            false if entry.count > 0 => Ok(()),
            false => {
                self.fail_waiting(pool, loss, operations);
                Ok(())
            }
        }
    }

    /// No connection can be opened: the operations that wait for one of the pool's fail.
    fn fail_waiting(&mut self, pool: PoolIndex, loss: &ConnectionLoss, operations: &mut Operations) {
        while let Some(operation) = self.pools.get_mut(pool).next_waiting(&self.clock, operations) {
            self.fail(operation, loss, Processing::Possible, operations);
        }
    }

    fn fail(
        &mut self,
        operation: OperationIndex,
        loss: &ConnectionLoss,
        processing: Processing,
        operations: &mut Operations,
    ) {
        let token = operations.token(operation);
        let entry = operations.get_mut(operation);
        entry.place = Place::Nowhere;
        entry.connection_error.clone_from(&loss.reason);
        self.ended.push(EndedOperation { operation: token, transport: Some(loss.outcome), processing });
    }

    /// Close a connection that is of no use, and open another if requests need it.
    pub(super) fn close_and_replace(
        &mut self,
        index: ConnectionIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let pool = self.connection(index).pool;
        self.close(index);
        self.grow(pool, operations)
    }

    pub(super) fn close(&mut self, index: ConnectionIndex) {
        self.discount(index);
        let mut connection = self.connections.remove(index.0);
        connection.deregister(&self.registry);
    }

    /// The connection takes no more requests, and another may be opened instead.
    pub(super) fn discount(&mut self, index: ConnectionIndex) {
        let connection = &mut self.connections[index.0];
        let pool = self.pools.get_mut(connection.pool);
        if std::mem::take(&mut connection.is_counted) {
            pool.count -= 1;
            pool.end_opening(index);
            pool.unshare(index, &mut self.connections);
        }
    }
}
