//! How connections begin and end.

use std::ops::{Bound, RangeBounds};

use evidence::Instant;

use super::connection::{Connection, ConnectionTarget, Registration};
use super::exhausted::{check_exhausted, is_port_shortage};
use super::races::{RIVAL_AFTER, Race};
use super::{ConnectionLoss, ConnectionState, Exhausted, Network, OpenedConnection, token_of};
use crate::index::{ConnectionIndex, OperationIndex, PoolIndex};
use crate::operation::{OperationPlace, Operations};

/// One in so many of the connections without a request is closed where no file descriptor is left.
const EVICTED_SHARE: usize = 8;

impl Network {
    /// Begin to open a connection, for this request or for any that waits. False when that has failed at once.
    pub(super) fn connect(
        &mut self,
        pool: PoolIndex,
        first: Option<OperationIndex>,
        operations: &mut Operations,
    ) -> Result<bool, Exhausted> {
        let now = self.clock.now();
        let entry = self.pools.get_mut(pool);
        let described = self.program.origin(entry.origin);
        let Some(route) = described.address.route() else { return Ok(false) };
        described.address.refresh(self.clock);
        let vacant = self.connections.vacant_entry();
        let index = ConnectionIndex(vacant.key());
        let (origin, number) = (entry.origin, entry.next_address());
        let address = route.usable(number, now);
        let local = route.local_address(entry.local_number(number, route.count()));
        let target = ConnectionTarget { pool, origin, described, route: &route, address, local };
        let registration = Registration { registry: &self.registry, token: token_of(index) };
        let mut connection = match Connection::open(target, registration, now) {
            Ok(connection) => connection,
            Err(error) => {
                if let Err(exhausted) = check_exhausted(&error) {
                    return if exhausted == Exhausted::Descriptors && self.close_idle() {
                        self.connect(pool, first, operations)
                    } else {
                        Err(exhausted)
                    };
                }
                if is_port_shortage(&error) {
                    if let Some(operation) = first {
                        self.enqueue(pool, operation, operations);
                    }
                    self.note_port_shortage(pool, now);
                    return Ok(false);
                }
                described.address.was_unreachable(self.clock);
                let loss = ConnectionLoss::from(&error);
                match first {
                    Some(operation) => self.fail(operation, &loss, operations),
                    None => self.opening_failed(pool, now, &loss, operations),
                }
                return Ok(false);
            }
        };
        connection.serial = self.next_serial;
        self.next_serial = self.next_serial.wrapping_add(1);
        entry.count += 1;
        connection.queued = first;
        match first {
            Some(operation) => operations.get_mut(operation).place = OperationPlace::Opening(index),
            None => entry.begin_opening(index, now),
        }
        if connection.has_rival_address() {
            self.races.push_back(Race { at: now + RIVAL_AFTER, index, serial: connection.serial });
        }
        vacant.insert(connection);
        Ok(true)
    }

    /// Close some of the connections that no request is on, those that were opened first. False where there is none.
    #[cold]
    fn close_idle(&mut self) -> bool {
        let is_idle = |one: &Connection| {
            one.state == ConnectionState::Open && one.queued.is_none() && one.wire.open_requests() == 0
        };
        let idle = self.connections.iter().filter(|(_, one)| is_idle(one));
        let mut idle: Vec<(u32, usize)> = idle.map(|(index, one)| (one.serial, index)).collect();
        idle.sort_unstable();
        for (_, index) in idle.iter().take(idle.len().div_ceil(EVICTED_SHARE)) {
            self.close(ConnectionIndex(*index));
        }
        !idle.is_empty()
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
        let (origin, setup, capacity) = (connection.origin, connection.setup, connection.capacity());
        let can_wait = connection.queued.is_none() && connection.wire.reusable();
        if capacity == 0 && !can_wait {
            return self.kill(index, &ConnectionLoss::accepts_no_request(), operations);
        }
        let queued = connection.queued.take();
        self.opened.push(OpenedConnection { origin, setup });
        let entry = self.pools.get_mut(pool);
        entry.end_opening(index);
        entry.protocol = Some(protocol);
        // A request that was made before the connection was begun has waited for all of it.
        let first = match queued {
            None if capacity > 0 => entry.next_waiting(&self.clock, operations),
            queued => queued,
        };
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
        self.note_unreachable(index);
        let connection = &mut self.connections[index.0];
        let registration = Registration { registry: &self.registry, token: token_of(index) };
        if connection.try_next(registration) {
            return Ok(());
        }
        self.kill(index, loss, operations)
    }

    /// A connection cannot be opened, or not in time: the addresses of its origin may have changed.
    pub(super) fn note_unreachable(&self, index: ConnectionIndex) {
        self.program.origin(self.connection(index).origin).address.was_unreachable(self.clock);
    }

    /// End a connection; every request on it ends with the same loss.
    pub(super) fn kill(
        &mut self,
        index: ConnectionIndex,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) -> Result<(), Exhausted> {
        let connection = &mut self.connections[index.0];
        let (pool, begun) = (connection.pool, connection.begun);
        let was_opening = self.pools.get(pool).is_opening(index);
        connection.end_all(loss, operations, &mut self.ended);
        self.close(index);
        if was_opening {
            self.opening_failed(pool, begun, loss, operations);
        }
        self.grow(pool, operations)
    }

    /// A connection that was begun at `begun` cannot be opened: the requests that waited for it fail, unless another
    /// one is open, which can carry them. Those that came before the connection begun before it wait for that one.
    fn opening_failed(
        &mut self,
        pool: PoolIndex,
        begun: Instant,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) {
        let entry = self.pools.get_mut(pool);
        if !entry.opening_failed(self.clock.now()) {
            let before = entry.last_begun(begun, &self.connections).map_or(Bound::Unbounded, Bound::Excluded);
            self.fail_waiting(pool, (before, Bound::Included(begun)), loss, operations);
        }
    }

    /// The operations fail that wait for a connection of the pool's since an instant of this range.
    pub(super) fn fail_waiting(
        &mut self,
        pool: PoolIndex,
        since: impl RangeBounds<Instant>,
        loss: &ConnectionLoss,
        operations: &mut Operations,
    ) {
        for operation in self.pools.get_mut(pool).take_waiting(since, &self.clock, operations) {
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
