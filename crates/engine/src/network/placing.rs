//! Where a request goes: onto a connection that can take it, onto one that is opened for it, or into a queue.

use std::time::Duration;

use evidence::Outcome;
use wire::{RenderedRequest, WireProtocol};
use workload::connection::Reuse;

use super::pool::{ConnectionRef, Pool};
use super::pools::PoolKey;
use super::{ConnectionState, EndedOperation, Exhausted, GivingUp, Network};
use crate::exchange::Purpose;
use crate::index::{ConnectionIndex, OperationIndex, OriginIndex, PoolIndex, UserIndex, grown};
use crate::operation::{OperationPlace, Operations};
use crate::program::LoadModel;

/// This many requests in a row that time out on a connection, with no response between them, show that it is of no use
/// any more: its next requests go elsewhere.
const TIMEOUTS_IN_A_ROW: u32 = 3;

/// A connection that takes longer to open is given up when a request that waits for one times out.
const OPENING_LIMIT: Duration = Duration::from_secs(10);

/// Where a request goes.
#[derive(Debug, Clone, Copy)]
enum Placement {
    /// Onto this connection.
    On(ConnectionIndex),
    /// Onto a connection that is opened for it.
    OnNew,
    /// Into the queue: onto the first connection that can take it.
    InQueue,
}

impl Network {
    /// Send the operation's request as soon as a connection has capacity for it. Its end, which may come at once,
    /// is put into `ended`.
    pub(crate) fn submit(
        &mut self,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let pool = self.pool_of(operation, operations);
        if !self.is_resolved(pool) {
            return self.look_up(pool, operation, operations);
        }
        match self.place(pool, operation, operations) {
            Placement::On(index) if self.start(index, operation, operations) => self.spread(pool, operations),
            Placement::On(index) => self.use_capacity(index, operations),
            Placement::OnNew => self.connect(pool, Some(operation), operations).map(drop),
            Placement::InQueue => {
                self.enqueue(pool, operation, operations);
                self.grow(pool, operations)
            }
        }
    }

    fn place(&mut self, pool: PoolIndex, operation: OperationIndex, operations: &Operations) -> Placement {
        let pool = self.pools.get_mut(pool);
        if let Some(index) = pool.take_free(operations.get(operation).vu_slot, &self.connections) {
            return Placement::On(index);
        }
        if pool.is_multiplexed() || !pool.has_space() { Placement::InQueue } else { Placement::OnNew }
    }

    /// Put an operation into the queue of a pool.
    pub(super) fn enqueue(
        &mut self,
        pool: PoolIndex,
        operation: OperationIndex,
        operations: &mut Operations,
    ) {
        self.pools.get_mut(pool).push_waiting(operation, pool, &self.clock, operations);
    }

    /// The pool whose connections the operation may use.
    fn pool_of(&mut self, operation: OperationIndex, operations: &Operations) -> PoolIndex {
        let operation = operations.get(operation);
        let origin = operation.draft.origin;
        let described = self.program.origin(origin);
        let model = if operation.vu_slot.is_some() { LoadModel::Closed } else { LoadModel::Open };
        let reuse = described.reuse_in(model);
        let is_own = matches!(reuse, Reuse::User | Reuse::Iteration) || described.has_own_pools;
        let owner = is_own.then(|| self.owner_for(operation.owner));
        self.pools.find(PoolKey { origin, owner }, || {
            let user = owner.map(|user| self.segment.nth(user.0.into()));
            Pool::new(origin, reuse, described.pool_limits(reuse), user)
        })
    }

    /// Give up an operation: nothing more is received for it, and it is not put into `ended`.
    pub(crate) fn abandon(
        &mut self,
        operation: OperationIndex,
        why: GivingUp,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        match operations.get(operation).place {
            OperationPlace::Nowhere => Ok(()),
            OperationPlace::Waiting(place) => {
                let entry = self.pools.get_mut(place.pool);
                entry.remove_waiting(operation, place, &self.clock, operations);
                if why == GivingUp::TimedOut { self.replace_opening(place.pool, operations) } else { Ok(()) }
            }
            OperationPlace::Opening(index) => {
                operations.get_mut(operation).place = OperationPlace::Nowhere;
                if why == GivingUp::TimedOut {
                    self.note_unreachable(index);
                }
                self.close_and_replace(index, operations)
            }
            OperationPlace::Carried(index) => {
                let token = operations.token(operation);
                self.say_farewell(token, operations);
                operations.get_mut(operation).place = OperationPlace::Nowhere;
                let connection = self.connection_mut(index);
                operations.get_mut(operation).add_bytes(connection.cancel(token, why));
                let is_useless = connection.timeouts >= TIMEOUTS_IN_A_ROW || !connection.is_counted;
                if !self.is_shared(index) {
                    return self.close_and_replace(index, operations);
                }
                self.mark_dirty(index);
                if is_useless { self.retire(index, operations) } else { Ok(()) }
            }
        }
    }

    /// If a connection takes too long to open, open another one instead.
    fn replace_opening(&mut self, pool: PoolIndex, operations: &mut Operations) -> Result<(), Exhausted> {
        let now = self.clock.now();
        let is_stuck = |index: &ConnectionIndex| now.since(self.connection(*index).begun) >= OPENING_LIMIT;
        match self.pools.get(pool).first_opening().filter(is_stuck) {
            Some(index) => {
                self.note_unreachable(index);
                self.close_and_replace(index, operations)
            }
            None => Ok(()),
        }
    }

    /// The virtual user's iteration is over: close the connections that belong to it.
    pub(crate) fn end_iteration(&mut self, user: UserIndex) {
        let user = self.owner_for(user);
        let mut next = self.pools.first_of_user(user);
        while let Some(pool) = next {
            let closes = self.pools.get(pool).reuse == Reuse::Iteration;
            while closes && let Some(index) = self.pools.get_mut(pool).any(&self.connections) {
                self.close(index);
            }
            next = self.pools.get(pool).next_of_user;
        }
    }

    /// The virtual user closes its connections to an origin: each when what it carries has ended. Those that it shares
    /// with others stay open.
    pub(crate) fn close_own(
        &mut self,
        user: UserIndex,
        origin: OriginIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let user = self.owner_for(user);
        let mut next = self.pools.first_of_user(user);
        while let Some(pool) = next {
            let is_of = self.pools.get(pool).origin == origin;
            while is_of && let Some(index) = self.pools.get_mut(pool).any(&self.connections) {
                self.discount(index);
                if self.connection(index).wire.open_requests() == 0 {
                    self.close(index);
                }
            }
            self.grow(pool, operations)?;
            next = self.pools.get(pool).next_of_user;
        }
        Ok(())
    }

    /// Whether this connection carries many requests at once.
    pub(super) fn is_shared(&self, index: ConnectionIndex) -> bool {
        let connection = self.connection(index);
        connection.protocol() == WireProtocol::Http2
            && connection.state == ConnectionState::Open
            && self.pools.get(connection.pool).reuse != Reuse::Never
    }

    /// Put a request on the wire. False when that cannot be done, and the request has failed, or when it is one for the
    /// connection alone: the connection can still be used then.
    pub(super) fn start(
        &mut self,
        index: ConnectionIndex,
        operation: OperationIndex,
        operations: &mut Operations,
    ) -> bool {
        let token = operations.token(operation);
        let connection = &mut self.connections[index.0];
        let origin = self.program.origin(connection.origin);
        let entry = operations.get_mut(operation);
        if entry.draft.purpose == Purpose::Connection {
            entry.place = OperationPlace::Nowhere;
            self.ended.push(EndedOperation::new(token, None));
            return false;
        }
        let constant = entry.draft.constant;
        let rendered = constant.map(|nth| grown(&mut self.rendered, nth.0, RenderedRequest::default()));
        match connection.start(token, origin, entry, rendered) {
            Ok(()) => {
                entry.place = OperationPlace::Carried(index);
                if entry.draft.notes_connection {
                    entry.sent_on = Some(connection.facts());
                }
                self.mark_dirty(index);
                true
            }
            Err(error) => {
                entry.place = OperationPlace::Nowhere;
                entry.transport_error = Some(error.to_string().into());
                self.ended.push(EndedOperation::new(token, Some(Outcome::Protocol)));
                false
            }
        }
    }

    /// Start requests that wait, if this connection carries many at once.
    pub(super) fn fill(
        &mut self,
        index: ConnectionIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let Some(connection) = self.connections.get(index.0) else { return Ok(()) };
        let has_waiting = self.pools.get(connection.pool).has_waiting();
        if has_waiting && self.is_shared(index) { self.use_capacity(index, operations) } else { Ok(()) }
    }

    /// A connection may have capacity: it starts requests that wait, becomes idle, or is closed when it is used up.
    pub(super) fn use_capacity(
        &mut self,
        index: ConnectionIndex,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let connection = self.connection(index);
        let (pool, is_shared) = (connection.pool, self.is_shared(index));
        let is_used_up = self.pools.get(pool).reuse == Reuse::Never || !connection.wire.reusable();
        if is_used_up || !connection.is_counted {
            return self.retire(index, operations);
        }
        while self.connection(index).capacity() > 0
            && let Some(operation) = self.pools.get_mut(pool).next_waiting(&self.clock, operations)
        {
            self.start(index, operation, operations);
        }
        let connection = self.connection_mut(index);
        if !is_shared && connection.wire.open_requests() == 0 {
            connection.is_idle = true;
            let reference = ConnectionRef { index, serial: connection.serial };
            if !self.pools.get_mut(pool).put_idle(reference, &self.connections) {
                self.close(index);
            }
        }
        Ok(())
    }

    /// A connection takes no more requests: it is closed when the last one on it has ended.
    fn retire(&mut self, index: ConnectionIndex, operations: &mut Operations) -> Result<(), Exhausted> {
        let pool = self.connection(index).pool;
        self.discount(index);
        if self.connection(index).wire.open_requests() == 0 {
            self.end_unused(index);
        }
        self.grow(pool, operations)
    }

    /// Open another connection, which no request waits for, while there are fewer than requests are to be spread over.
    #[inline]
    fn spread(&mut self, pool: PoolIndex, operations: &mut Operations) -> Result<(), Exhausted> {
        let entry = self.pools.get(pool);
        if entry.is_below_spread() && entry.may_try(self.clock.now()) {
            self.connect(pool, None, operations)?;
        }
        Ok(())
    }

    /// Open connections as far as requests that wait need them.
    pub(super) fn grow(&mut self, pool: PoolIndex, operations: &mut Operations) -> Result<(), Exhausted> {
        if !self.is_resolved(pool) || !self.pools.get(pool).has_waiting() {
            return Ok(());
        }
        let now = self.clock.now();
        while self.pools.get(pool).needs_another() && self.pools.get(pool).has_space() {
            let entry = self.pools.get_mut(pool);
            if entry.is_multiplexed() {
                if !entry.may_try(now) || !self.connect(pool, None, operations)? {
                    return Ok(());
                }
            } else if let Some(first) = entry.next_waiting(&self.clock, operations) {
                self.connect(pool, Some(first), operations)?;
            }
        }
        if self.pools.get(pool).needs_another() {
            self.pools.get_mut(pool).note_limit(now, &self.connections);
        }
        Ok(())
    }
}
