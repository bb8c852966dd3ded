//! The connections of one origin: which are free, which are shared, and who waits for one.
//!
//! Every change costs the same however many there are: entries that no longer hold are passed over when
//! their turn comes.

use std::collections::{HashMap, VecDeque};

use slab::Slab;

use super::connection::Connection;
use crate::operation::{OperationToken, Operations, VuSlot};
use crate::program::Speaks;

/// A connection by its place and serial; it may be gone meanwhile.
type Ticket = (usize, u32);

/// The connections of one origin.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Which protocol its connections speak, once that is known.
    pub(super) speaks: Option<Speaks>,
    /// How many there are that take requests, now or when they are established.
    pub(super) count: usize,
    /// How many were ever opened.
    pub(super) opened: usize,
    /// Unshared connections without a request, the most recently used last. Closed ones are among them. They
    /// are all passed over before another connection is opened, so that there are never more than connections
    /// were open at once.
    idle: Vec<Ticket>,
    /// The same, of those that belong to a virtual user's iteration.
    owned: HashMap<u32, Vec<Ticket>>,
    /// Connections that carry many requests at once.
    shared: Vec<usize>,
    next: usize,
    /// Operations for which no connection has room.
    pub(super) waiting: Line,
}

impl Pool {
    pub(super) fn new(speaks: Option<Speaks>) -> Self {
        Pool { speaks, ..Pool::default() }
    }

    pub(super) fn put_idle(&mut self, connection: Ticket) {
        self.idle.push(connection);
    }

    pub(super) fn put_owned(&mut self, owner: u32, connection: Ticket) {
        self.owned.entry(owner).or_default().push(connection);
    }

    pub(super) fn take_idle(&mut self, connections: &Slab<Connection>) -> Option<usize> {
        take(&mut self.idle, connections)
    }

    pub(super) fn take_owned(&mut self, owner: u32, connections: &Slab<Connection>) -> Option<usize> {
        let owned = self.owned.get_mut(&owner)?;
        let taken = take(owned, connections);
        if owned.is_empty() {
            self.owned.remove(&owner);
        }
        taken
    }

    /// Add a shared connection, and say where it stands.
    pub(super) fn share(&mut self, place: usize) -> usize {
        self.shared.push(place);
        self.shared.len() - 1
    }

    /// Take a connection off the list of shared ones, if it is on it.
    pub(super) fn unshare(&mut self, place: usize, connections: &mut Slab<Connection>) {
        let slot = connections[place].slot;
        if self.shared.get(slot) != Some(&place) {
            return;
        }
        self.shared.swap_remove(slot);
        if let Some(moved) = self.shared.get(slot) {
            connections[*moved].slot = slot;
        }
    }

    /// A shared connection that can take another request: that of the seat or, where nobody sits, the next in
    /// turn. Where there are fewer seats than connections all take turns, so that every connection is used.
    pub(super) fn with_room(
        &mut self,
        seat: Option<VuSlot>,
        connections: &Slab<Connection>,
    ) -> Option<usize> {
        let count = self.shared.len();
        let seat = seat.filter(|seat| seat.of as usize >= count);
        let first = seat.map_or(self.next, |seat| seat.nth as usize);
        let at = (0..count)
            .map(|turn| (first + turn) % count)
            .find(|at| connections[self.shared[*at]].wire.capacity() > 0)?;
        if seat.is_none() {
            self.next = (at + 1) % count;
        }
        Some(self.shared[at])
    }
}

fn take(tickets: &mut Vec<Ticket>, connections: &Slab<Connection>) -> Option<usize> {
    while let Some((place, serial)) = tickets.pop() {
        if connections.get(place).is_some_and(|c| c.serial == serial) {
            return Some(place);
        }
    }
    None
}

/// Operations in the order in which they came. Those that have left are passed over.
#[derive(Debug, Default)]
pub(super) struct Line {
    all: VecDeque<OperationToken>,
    waiting: usize,
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(super) fn join(&mut self, operation: u32, operations: &mut Operations) {
        self.all.push_back(operations.token(operation));
        self.waiting += 1;
        operations.get_mut(operation).is_waiting = true;
    }

    pub(super) fn next(&mut self, operations: &mut Operations) -> Option<u32> {
        while let Some(token) = self.all.pop_front() {
            if let Some((place, operation)) = operations.find(token.0)
                && operation.is_waiting
            {
                operation.is_waiting = false;
                self.waiting -= 1;
                return Some(place);
            }
        }
        None
    }

    /// The operation waits no longer, if it did.
    pub(super) fn leave(&mut self, operation: u32, operations: &mut Operations) {
        if !std::mem::take(&mut operations.get_mut(operation).is_waiting) {
            return;
        }
        self.waiting -= 1;
        // Where nothing ever gets its turn, those that left must not add up.
        if self.all.len() > 2 * self.waiting + 16 {
            self.all.retain(|token| operations.find(token.0).is_some_and(|(_, o)| o.is_waiting));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_order_and_forgets_those_that_left() {
        let (mut operations, mut line) = (Operations::default(), Line::default());
        let open = |line: &mut Line, operations: &mut Operations| {
            let operation = operations.open(0);
            line.join(operation, operations);
            operation
        };
        let first = [open(&mut line, &mut operations), open(&mut line, &mut operations)];
        for _ in 0..1000 {
            let one = open(&mut line, &mut operations);
            line.leave(one, &mut operations);
            operations.close(one);
        }
        assert!(line.all.len() < 50, "{}", line.all.len());
        line.leave(first[0], &mut operations);
        line.leave(first[0], &mut operations);
        assert_eq!((line.next(&mut operations), line.is_empty()), (Some(first[1]), true));
        assert_eq!(line.next(&mut operations), None);
    }
}
