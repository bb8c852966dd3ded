//! How connections begin and end.

use super::connection::{Connection, ConnectionTarget, Registration};
use super::exhausted::check_exhausted;
use super::{
    ConnectionLoss, ConnectionState, EndedOperation, EstablishedConnection, Exhausted, Network, token_of,
};
use crate::index::{ConnectionIndex, OperationIndex, OriginIndex};
use crate::operation::Operations;

impl Network {
    /// Open a connection, for this request or for any that waits.
    pub(super) fn connect(
        &mut self,
        origin: OriginIndex,
        first: Option<OperationIndex>,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let described = self.program.origin(origin);
        // No connection is opened before the address is known: see `replace` and `submit`.
        let Some(route) = described.address.route() else { return Ok(()) };
        let pool = &mut self.pools[origin.0];
        let entry = self.connections.vacant_entry();
        let index = ConnectionIndex(entry.key());
        let target = ConnectionTarget { origin, described, route, address: pool.opened };
        let registration = Registration { registry: &self.registry, token: token_of(index) };
        let opened = Connection::open(target, registration, self.clock.now());
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
                    operation.connection = Some(index);
                }
                entry.insert(connection);
            }
            Err(error) => {
                check_exhausted(&error)?;
                let loss = ConnectionLoss::from(&error);
                match first {
                    Some(operation) => self.fail(operation, &loss, operations),
                    None => self.fail_waiting(origin, &loss, operations),
                }
            }
        }
        Ok(())
    }

    /// The socket is connected, and a handshake, a tunnel or the protocol itself was begun on it.
    pub(super) fn established(
        &mut self,
        index: ConnectionIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        self.mark_dirty(index);
        match self.connection(index).state {
            ConnectionState::Open => self.opened(index, operations),
            ConnectionState::Connecting | ConnectionState::Tunnelling | ConnectionState::Handshaking => {
                Ok(())
            }
        }
    }

    /// A connection can be used from now on, and its protocol is known: send what waits for it.
    fn opened(&mut self, index: ConnectionIndex, operations: &mut Operations) -> Result<(), Exhausted> {
        // The preface of a fresh connection is sent even if nothing waits for it any more.
        self.mark_dirty(index);
        let connection = self.connection_mut(index);
        let (origin, protocol, setup) = (connection.origin, connection.protocol(), connection.setup);
        let queued = connection.queued.take();
        self.established.push(EstablishedConnection { origin, setup });
        if let Some(operation) = queued {
            operations.get_mut(operation).setup = setup;
        }
        let is_new_protocol = self.pool(origin).protocol.replace(protocol) != Some(protocol);
        if self.is_shared(index) {
            self.connection_mut(index).shared_position = self.pool(origin).share(index);
            if let Some(operation) = queued {
                self.start(index, operation, operations);
            }
            self.start_waiting(index, operations);
        } else if !queued.is_some_and(|operation| self.start(index, operation, operations)) {
            self.finished(index, operations)?;
        }
        if is_new_protocol {
            self.replace(origin, operations)?;
        }
        Ok(())
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
        let (origin, was_open) = (connection.origin, connection.state == ConnectionState::Open);
        let mut carried = std::mem::take(&mut self.carried);
        connection.take_carried(operations, &mut carried);
        for token in carried.drain(..) {
            if operations.find(token).is_some() {
                self.fail(token.index(), loss, operations);
            }
        }
        self.carried = carried;
        self.close(index);
        if !was_open && self.is_sharing(origin) && self.pool(origin).count == 0 {
            self.fail_waiting(origin, loss, operations);
            return Ok(());
        }
        self.replace(origin, operations)
    }

    /// No connection can be opened: the operations that wait for one of the origin's fail.
    pub(super) fn fail_waiting(
        &mut self,
        origin: OriginIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) {
        while let Some(operation) = self.pool(origin).waiting.next(operations) {
            self.fail(operation, loss, operations);
        }
    }

    pub(super) fn fail(
        &mut self,
        operation: OperationIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) {
        let token = operations.token(operation);
        let entry = operations.get_mut(operation);
        entry.connection = None;
        entry.connection_error.clone_from(&loss.reason);
        self.ended.push(EndedOperation { operation: token, transport: Some(loss.outcome) });
    }

    pub(super) fn close(&mut self, index: ConnectionIndex) {
        if !self.connections.contains(index.0) {
            return;
        }
        self.discount(index);
        let mut connection = self.connections.remove(index.0);
        connection.deregister(&self.registry);
    }

    /// The connection takes no more requests, and another may be opened instead.
    pub(super) fn discount(&mut self, index: ConnectionIndex) {
        let connection = &mut self.connections[index.0];
        let pool = &mut self.pools[connection.origin.0];
        if std::mem::take(&mut connection.is_counted) {
            pool.count -= 1;
            pool.unshare(index, &mut self.connections);
        }
    }
}
