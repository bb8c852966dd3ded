//! Which connection a request is sent on, and when it must wait for one.

use evidence::Outcome;
use wire::WireProtocol;
use workload::connection::Reuse;

use super::pool::ConnectionRef;
use super::resolving::Lookup;
use super::{ConnectionState, EndedOperation, Exhausted, Network};
use crate::index::{ConnectionIndex, OperationIndex, OriginIndex, UserIndex};
use crate::operation::Operations;

impl Network {
    /// Send the operation's request as soon as a connection has capacity for it. Its end, which may come at once,
    /// is put into `ended`.
    pub(crate) fn submit(
        &mut self,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let origin = operations.get(operation).draft.origin;
        if origin.0 >= self.pools.len() {
            self.add_pools(origin);
        }
        if self.program.origin(origin).address.route().is_none()
            && self.look_up(operation, operations)? == Lookup::Pending
        {
            return Ok(());
        }
        if self.is_sharing(origin) {
            self.submit_shared(operation, operations)
        } else {
            self.submit_alone(operation, operations)
        }
    }

    /// Give up an operation: nothing more is received for it, and it is not put into `ended`.
    pub(crate) fn abandon(
        &mut self,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let entry = operations.get_mut(operation);
        let origin = entry.draft.origin;
        let Some(index) = entry.connection.take() else {
            self.pool(origin).waiting.remove(operation, operations);
            return Ok(());
        };
        let bytes = self.connection_mut(index).forget(operations.token(operation));
        operations.get_mut(operation).add_bytes(bytes);
        if self.is_shared(index) {
            self.mark_dirty(index);
            return Ok(());
        }
        self.close(index);
        self.replace(origin, operations)
    }

    /// The virtual user's iteration is over: close the connections that belong to it.
    pub(crate) fn end_iteration(
        &mut self,
        user: UserIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        for nth in 0..self.ephemeral.len() {
            let origin = self.ephemeral[nth];
            while let Some(index) = self.pools[origin.0].take_owned(user, &self.connections) {
                self.close(index);
            }
            self.replace(origin, operations)?;
        }
        Ok(())
    }

    /// Whether requests to this origin share connections; also while the protocol is still unknown.
    pub(super) fn is_sharing(&self, origin: OriginIndex) -> bool {
        self.program.origin(origin).reuse == Reuse::Pool
            && self.pools[origin.0].protocol != Some(WireProtocol::Http1)
    }

    /// Whether this connection carries many requests at once.
    pub(super) fn is_shared(&self, index: ConnectionIndex) -> bool {
        let connection = self.connection(index);
        connection.protocol() == WireProtocol::Http2
            && connection.state == ConnectionState::Open
            && self.program.origin(connection.origin).reuse == Reuse::Pool
    }

    /// Whether another connection may be opened.
    fn may_connect(&self, origin: OriginIndex) -> bool {
        let pool = &self.pools[origin.0];
        let protocol = pool.protocol.unwrap_or(WireProtocol::Http2);
        pool.count < self.program.origin(origin).most_connections(protocol)
    }

    fn submit_alone(
        &mut self,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let entry = operations.get(operation);
        let (origin, owner) = (entry.draft.origin, entry.owner);
        let pool = &mut self.pools[origin.0];
        let free = match self.program.origin(origin).reuse {
            Reuse::User | Reuse::Pool => pool.take_idle(&self.connections),
            Reuse::Iteration => pool.take_owned(owner, &self.connections),
            Reuse::Never => None,
        };
        match free {
            Some(index) if self.start(index, operation, operations) => Ok(()),
            Some(index) => self.finished(index, operations),
            None if self.may_connect(origin) => self.connect(origin, Some(operation), operations),
            None => {
                self.pool(origin).waiting.push(operation, operations);
                Ok(())
            }
        }
    }

    fn submit_shared(
        &mut self,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let entry = operations.get(operation);
        let (origin, slot) = (entry.draft.origin, entry.vu_slot);
        let pool = &mut self.pools[origin.0];
        if pool.waiting.is_empty()
            && let Some(index) = pool.with_capacity(slot, &self.connections)
        {
            self.start(index, operation, operations);
            return Ok(());
        }
        pool.waiting.push(operation, operations);
        if self.may_connect(origin) {
            self.connect(origin, None, operations)?;
        }
        Ok(())
    }

    /// Start waiting operations as far as a shared connection has capacity.
    pub(super) fn start_waiting(&mut self, index: ConnectionIndex, operations: &mut Operations) {
        let Some(connection) = self.connections.get(index.0) else { return };
        let origin = connection.origin;
        if self.pool(origin).waiting.is_empty() || !self.is_shared(index) {
            return;
        }
        while self.connection(index).wire.capacity() > 0 {
            let Some(operation) = self.pool(origin).waiting.next(operations) else { break };
            self.start(index, operation, operations);
        }
    }

    /// Put a request on the wire. False when that cannot be done, and the request has failed: the connection
    /// can still be used then.
    pub(super) fn start(
        &mut self,
        index: ConnectionIndex,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> bool {
        let token = operations.token(operation);
        let now = self.clock.now();
        let connection = &mut self.connections[index.0];
        let origin = self.program.origin(connection.origin);
        let entry = operations.get_mut(operation);
        match connection.start(token, origin, entry) {
            Ok(()) => {
                entry.connection = Some(index);
                entry.sent_at = entry.sent_at.min(now);
                self.mark_dirty(index);
                true
            }
            Err(error) => {
                entry.connection = None;
                entry.start_error = Some(error);
                self.ended.push(EndedOperation { operation: token, transport: Some(Outcome::Protocol) });
                false
            }
        }
    }

    /// An unshared connection has no request any more: it starts a waiting one, becomes idle, or is closed.
    pub(super) fn finished(
        &mut self,
        index: ConnectionIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let connection = self.connection(index);
        let (origin, owner) = (connection.origin, connection.owner);
        let reference = ConnectionRef { index, serial: connection.serial };
        let reuse = self.program.origin(origin).reuse;
        if !connection.wire.reusable() || reuse == Reuse::Never {
            self.close(index);
            return self.replace(origin, operations);
        }
        if reuse == Reuse::Iteration {
            self.pool(origin).put_owned(owner, reference);
            return Ok(());
        }
        while let Some(operation) = self.pool(origin).waiting.next(operations) {
            if self.start(index, operation, operations) {
                return Ok(());
            }
        }
        self.pool(origin).put_idle(reference);
        Ok(())
    }

    /// Open connections for operations that wait, where no open connection could take them.
    pub(super) fn replace(
        &mut self,
        origin: OriginIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        if self.program.origin(origin).address.route().is_none() {
            return Ok(());
        }
        if self.is_sharing(origin) {
            let pool = &self.pools[origin.0];
            return match pool.waiting.is_empty() || pool.count > 0 {
                true => Ok(()),
                false => self.connect(origin, None, operations),
            };
        }
        while self.may_connect(origin)
            && let Some(operation) = self.pool(origin).waiting.next(operations)
        {
            self.connect(origin, Some(operation), operations)?;
        }
        Ok(())
    }
}
