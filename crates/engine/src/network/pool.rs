//! The connections of one origin: which are idle, which are shared, and which operations wait for one.
//!
//! Every change costs the same however many connections there are: entries that are out of date are skipped when
//! they are reached.

use std::collections::{HashMap, VecDeque};

use slab::Slab;
use wire::WireProtocol;

use super::connection::Connection;
use crate::index::{ConnectionIndex, OperationIndex, UserIndex};
use crate::operation::{Operation, OperationToken, Operations, VuSlotPosition};

/// A connection by its index and serial; it may be closed meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionRef {
    pub(super) index: ConnectionIndex,
    pub(super) serial: u32,
}

/// The connections of one origin.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// The protocol of its connections, once that is known.
    pub(super) protocol: Option<WireProtocol>,
    /// How many there are that take requests, now or when they are established.
    pub(super) count: usize,
    /// How many were ever opened.
    pub(super) opened: usize,
    /// Unshared connections without a request, the most recently used last. Closed ones are among them: all are
    /// looked through before another connection is opened, so that the list never grows past the most connections
    /// that were open at once.
    idle: Vec<ConnectionRef>,
    /// The same, of connections that belong to a virtual user's iteration.
    owned: HashMap<UserIndex, Vec<ConnectionRef>>,
    /// Connections that carry many requests at once.
    shared: Vec<ConnectionIndex>,
    /// The position in `shared` that is used next.
    next: usize,
    /// Operations that wait for a connection.
    pub(super) waiting: WaitQueue,
}

impl Pool {
    pub(super) fn new(protocol: Option<WireProtocol>) -> Self {
        Pool { protocol, ..Pool::default() }
    }

    pub(super) fn put_idle(&mut self, connection: ConnectionRef) {
        self.idle.push(connection);
    }

    pub(super) fn put_owned(&mut self, owner: UserIndex, connection: ConnectionRef) {
        self.owned.entry(owner).or_default().push(connection);
    }

    pub(super) fn take_idle(&mut self, connections: &Slab<Connection>) -> Option<ConnectionIndex> {
        take_open(&mut self.idle, connections)
    }

    pub(super) fn take_owned(
        &mut self,
        owner: UserIndex,
        connections: &Slab<Connection>,
    ) -> Option<ConnectionIndex> {
        let owned = self.owned.get_mut(&owner)?;
        let taken = take_open(owned, connections);
        if owned.is_empty() {
            self.owned.remove(&owner);
        }
        taken
    }

    /// Add a shared connection, and return its position in the list.
    pub(super) fn share(&mut self, index: ConnectionIndex) -> usize {
        self.shared.push(index);
        self.shared.len() - 1
    }

    /// Take a connection off the list of shared ones, if it is on it.
    pub(super) fn unshare(&mut self, index: ConnectionIndex, connections: &mut Slab<Connection>) {
        let position = connections[index.0].shared_position;
        if self.shared.get(position) != Some(&index) {
            return;
        }
        self.shared.swap_remove(position);
        if let Some(moved) = self.shared.get(position) {
            connections[moved.0].shared_position = position;
        }
    }

    /// A shared connection with capacity for another request: that of the VU slot, else the next in turn. Where
    /// there are fewer slots than connections all requests take turns, so that every connection is used.
    pub(super) fn with_capacity(
        &mut self,
        slot: Option<VuSlotPosition>,
        connections: &Slab<Connection>,
    ) -> Option<ConnectionIndex> {
        let count = self.shared.len();
        let slot = slot.filter(|slot| slot.slots as usize >= count);
        let first = slot.map_or(self.next, |slot| slot.slot.0 as usize);
        let position = (0..count)
            .map(|turn| (first + turn) % count)
            .find(|position| connections[self.shared[*position].0].wire.capacity() > 0)?;
        if slot.is_none() {
            self.next = (position + 1) % count;
        }
        Some(self.shared[position])
    }
}

fn take_open(candidates: &mut Vec<ConnectionRef>, connections: &Slab<Connection>) -> Option<ConnectionIndex> {
    while let Some(ConnectionRef { index, serial }) = candidates.pop() {
        if connections.get(index.0).is_some_and(|c| c.serial == serial) {
            return Some(index);
        }
    }
    None
}

/// Operations that wait for a connection, in the order in which they were queued. Removed ones are skipped.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    all: VecDeque<OperationToken>,
    waiting: usize,
}

impl WaitQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(super) fn push(&mut self, operation: OperationIndex, operations: &mut Operations) {
        self.all.push_back(operations.token(operation));
        self.waiting += 1;
        operations.get_mut(operation).is_waiting = true;
    }

    pub(super) fn next(&mut self, operations: &mut Operations) -> Option<OperationIndex> {
        while let Some(token) = self.all.pop_front() {
            if let Some(operation) = operations.find(token)
                && operation.is_waiting
            {
                operation.is_waiting = false;
                self.waiting -= 1;
                return Some(token.index());
            }
        }
        None
    }

    /// Call `visit` with each operation that waits.
    pub(super) fn for_each(&self, operations: &mut Operations, mut visit: impl FnMut(&mut Operation)) {
        for token in &self.all {
            if let Some(operation) = operations.find(*token).filter(|operation| operation.is_waiting) {
                visit(operation);
            }
        }
    }

    /// Remove the operation, if it waits.
    pub(super) fn remove(&mut self, operation: OperationIndex, operations: &mut Operations) {
        if !std::mem::take(&mut operations.get_mut(operation).is_waiting) {
            return;
        }
        self.waiting -= 1;
        // Where nothing is ever taken from the queue, removed operations must not accumulate.
        if self.all.len() > 2 * self.waiting + 16 {
            self.all.retain(|token| operations.find(*token).is_some_and(|o| o.is_waiting));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_budget::BodyBudget;

    #[test]
    fn a_wait_queue_keeps_its_order_and_does_not_grow_with_removed_operations() {
        let (mut operations, mut queue) = (Operations::new(&BodyBudget::new(0)), WaitQueue::default());
        let open = |queue: &mut WaitQueue, operations: &mut Operations| {
            let operation = operations.open(0);
            queue.push(operation, operations);
            operation
        };
        let first = [open(&mut queue, &mut operations), open(&mut queue, &mut operations)];
        for _ in 0..1000 {
            let one = open(&mut queue, &mut operations);
            queue.remove(one, &mut operations);
            operations.close(one);
        }
        assert!(queue.all.len() < 50, "{}", queue.all.len());
        queue.remove(first[0], &mut operations);
        queue.remove(first[0], &mut operations);
        assert_eq!((queue.next(&mut operations), queue.is_empty()), (Some(first[1]), true));
        assert_eq!(queue.next(&mut operations), None);
    }
}
