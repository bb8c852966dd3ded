//! Operations that wait for a connection of a pool, in the order in which they were queued.

use std::collections::VecDeque;

use evidence::Instant;

use crate::index::{OperationIndex, PoolIndex};
use crate::operation::{Operation, OperationPlace, OperationToken, Operations};

/// Which queue an operation waits in, and since when.
#[derive(Debug, Clone, Copy)]
pub(in crate::network) struct QueuePlace {
    pub(in crate::network) pool: PoolIndex,
    pub(in crate::network) since: Instant,
}

/// A queue of operations. Removed ones are skipped.
#[derive(Debug, Default)]
pub(super) struct WaitQueue {
    all: VecDeque<OperationToken>,
    waiting: usize,
}

impl WaitQueue {
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    pub(super) fn push(&mut self, operation: OperationIndex, place: QueuePlace, operations: &mut Operations) {
        self.all.push_back(operations.token(operation));
        self.waiting += 1;
        let QueuePlace { pool, since } = place;
        operations.get_mut(operation).place = OperationPlace::Waiting { pool, since };
    }

    /// Take the first operation, and since when it waited.
    pub(super) fn next(&mut self, operations: &mut Operations) -> Option<(OperationIndex, Instant)> {
        while let Some(token) = self.all.pop_front() {
            if let Some(operation) = operations.find(token)
                && let OperationPlace::Waiting { since, .. } = operation.place
            {
                operation.place = OperationPlace::Nowhere;
                self.waiting -= 1;
                return Some((token.index(), since));
            }
        }
        None
    }

    /// Call `visit` with each operation that waits, and since when.
    pub(super) fn for_each(
        &self,
        operations: &mut Operations,
        mut visit: impl FnMut(&mut Operation, Instant),
    ) {
        for token in &self.all {
            if let Some(operation) = operations.find(*token)
                && let OperationPlace::Waiting { since, .. } = operation.place
            {
                visit(operation, since);
            }
        }
    }

    /// Remove an operation that waits here.
    pub(super) fn remove(&mut self, operation: OperationIndex, operations: &mut Operations) {
        operations.get_mut(operation).place = OperationPlace::Nowhere;
        self.waiting -= 1;
        // Where nothing is ever taken from the queue, removed operations must not accumulate.
        if self.all.len() > 2 * self.waiting + 16 {
            let mut is_waiting = |token| {
                operations.find(token).is_some_and(|one| matches!(one.place, OperationPlace::Waiting { .. }))
            };
            self.all.retain(|token| is_waiting(*token));
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
            queue.push(operation, QueuePlace { pool: PoolIndex(0), since: Instant::EPOCH }, operations);
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
        assert_eq!(queue.next(&mut operations), Some((first[1], Instant::EPOCH)));
        assert!(queue.is_empty());
        assert_eq!(queue.next(&mut operations), None);
    }
}
