//! How connections begin and end.

use evidence::Instant;

use super::connection::{Connection, ConnectionTarget, Registration};
use super::exhausted::check_exhausted;
use super::{ConnectionLoss, ConnectionState, Exhausted, Network, OpenedConnection, token_of};
use crate::index::{ConnectionIndex, OperationIndex, PoolIndex};
use crate::operation::{OperationPlace, Operations};

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
        let Some(route) = described.address.route() else { return Ok(()) };
        let vacant = self.connections.vacant_entry();
        let index = ConnectionIndex(vacant.key());
        let (origin, address) = (entry.origin, entry.next_address());
        let target = ConnectionTarget { pool, origin, described, route, address };
        let registration = Registration { registry: &self.registry, token: token_of(index) };
        let mut connection = match Connection::open(target, registration, self.clock.now()) {
            Ok(connection) => connection,
            Err(error) => {
                check_exhausted(&error)?;
                let loss = ConnectionLoss::from(&error);
                match first {
                    Some(operation) => self.fail(operation, &loss, operations),
                    None => self.fail_waiting(pool, &loss, operations),
                }
                return Ok(());
            }
        };
        connection.serial = self.next_serial;
        self.next_serial = self.next_serial.wrapping_add(1);
        entry.count += 1;
        connection.queued = first;
        match first {
            Some(operation) => operations.get_mut(operation).place = OperationPlace::Opening(index),
            None => entry.begin_opening(index),
        }
        vacant.insert(connection);
        Ok(())
    }

    /// The socket is connected, and a handshake, a tunnel or the protocol itself was begun on it.
    pub(super) fn advanced(
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
        self.opened.push(OpenedConnection { origin, setup });
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
            // A request that was sent before, on another connection, has waited for that one.
            let is_first_sent = entry.sent_at == Instant::NEVER;
            if is_first_sent && (queued.is_some() || entry.begun_at <= begun) {
                entry.setup = setup;
            }
            self.start(index, operation, operations)
        });
        if is_shared || !is_in_use {
            self.use_capacity(index, operations)?;
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
        let route = self.program.origin(connection.origin).address.route();
        let registration = Registration { registry: &self.registry, token: token_of(index) };
        if route.is_some_and(|route| connection.try_next(route, registration)) {
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
        connection.end_all(loss, operations, &mut self.ended);
        self.close(index);
        let entry = self.pools.get(pool);
        if was_open || !entry.is_multiplexed() {
            return self.grow(pool, operations);
        }
        // Others that are being opened may still take what waits.
        if entry.count == 0 {
            self.fail_waiting(pool, loss, operations);
        }
        Ok(())
    }

    /// No connection can be opened: the operations that wait for one of the pool's fail.
    pub(super) fn fail_waiting(
        &mut self,
        pool: PoolIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) {
        while let Some(operation) = self.pools.get_mut(pool).next_waiting(&self.clock, operations) {
            self.fail(operation, loss, operations);
        }
    }

    pub(super) fn fail(
        &mut self,
        operation: OperationIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) {
        self.ended.push(loss.end(operations.token(operation), operations.get_mut(operation)));
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
