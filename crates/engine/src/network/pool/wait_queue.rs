//! Operations that wait for a connection of a pool, in the order in which they were queued.

use std::collections::VecDeque;
use std::ops::RangeBounds;

use evidence::Instant;

use crate::index::OperationIndex;
use crate::operation::{Operation, OperationPlace, OperationToken, Operations, QueuePlace};

/// A queue of operations. Removed ones are skipped.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct WaitQueue {
    /// First, as it is all that most requests read of it.
    waiting: usize,
    all: VecDeque<OperationToken>,
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
        operations.get_mut(operation).place = OperationPlace::Waiting(place);
    }

    /// Take the first operation, and where it waited.
    pub(super) fn next(&mut self, operations: &mut Operations) -> Option<(OperationIndex, QueuePlace)> {
        while let Some(token) = self.all.pop_front() {
            if let Some(operation) = operations.find(token)
                && let OperationPlace::Waiting(place) = operation.place
            {
                operation.place = OperationPlace::Nowhere;
                self.waiting -= 1;
                return Some((token.index(), place));
            }
        }
        None
    }

    /// Take every operation that waits since an instant of this range, and where it waited.
    pub(super) fn take(
        &mut self,
        since: impl RangeBounds<Instant>,
        operations: &mut Operations,
    ) -> Vec<(OperationIndex, QueuePlace)> {
        let mut taken = Vec::new();
        self.all.retain(|token| {
            if let Some(operation) = operations.find(*token)
                && let OperationPlace::Waiting(place) = operation.place
                && since.contains(&place.since)
            {
                operation.place = OperationPlace::Nowhere;
                taken.push((token.index(), place));
                return false;
            }
            true
        });
        self.waiting -= taken.len();
        taken
    }

    /// Call `visit` with each operation that waits, and since when.
    pub(super) fn for_each(
        &self,
        operations: &mut Operations,
        mut visit: impl FnMut(&mut Operation, Instant),
    ) {
        for token in &self.all {
            if let Some(operation) = operations.find(*token)
                && let OperationPlace::Waiting(place) = operation.place
            {
                visit(operation, place.since);
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
                operations.find(token).is_some_and(|one| matches!(one.place, OperationPlace::Waiting(_)))
            };
            self.all.retain(|token| is_waiting(*token));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_budget::BodyBudget;
    use crate::index::PoolIndex;

    fn open(queue: &mut WaitQueue, operations: &mut Operations, since: Instant) -> OperationIndex {
        let operation = operations.open(0);
        queue.push(operation, QueuePlace { pool: PoolIndex(0), since, limited_before_ns: 0 }, operations);
        operation
    }

    #[test]
    fn a_wait_queue_keeps_its_order_and_does_not_grow_with_removed_operations() {
        let (mut operations, mut queue) = (Operations::new(&BodyBudget::new(0)), WaitQueue::default());
        let at = |ms| Instant::at(std::time::Duration::from_millis(ms));
        let first = [1, 2].map(|ms| open(&mut queue, &mut operations, at(ms)));
        for _ in 0..1000 {
            let one = open(&mut queue, &mut operations, at(3));
            queue.remove(one, &mut operations);
            operations.close(one);
        }
        assert!(queue.all.len() < 50, "{}", queue.all.len());
        queue.remove(first[0], &mut operations);
        let last = [4, 5].map(|ms| open(&mut queue, &mut operations, at(ms)));
        let taken = queue.take(at(3)..at(5), &mut operations);
        assert_eq!(taken.iter().map(|(operation, _)| *operation).collect::<Vec<_>>(), [last[0]]);
        for (operation, since) in [(first[1], at(2)), (last[1], at(5))] {
            let taken = queue.next(&mut operations);
            assert_eq!(taken.map(|(operation, place)| (operation, place.since)), Some((operation, since)));
        }
        assert!(queue.is_empty());
        assert_eq!(queue.next(&mut operations), None);
    }
}
