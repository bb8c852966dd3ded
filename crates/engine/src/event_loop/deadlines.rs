//! The time limits of the requests of one loop, the earliest first.
//!
//! A request that ends is not looked for: its entry is dropped when it is reached, or with all others of that kind once they are
//! the larger part. So a request costs the same however many are under way, and time limits that pass cost as much as there
//! are of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use evidence::Instant;

use crate::index::OperationIndex;
use crate::operation::Operations;

/// How exactly time limits are watched: a loop does not wake up for each of many that pass one after the other.
pub(super) const RESOLUTION: Duration = Duration::from_millis(1);
/// So many entries of requests that have ended are kept whatever is under way.
const SPARE_ENTRIES: usize = 1_024;

/// A request that was begun with this time limit.
type Entry = Reverse<(Instant, OperationIndex)>;

#[derive(Debug, Default)]
pub(super) struct Deadlines {
    entries: BinaryHeap<Entry>,
    /// Time limits are not looked at before.
    rests_until: Instant,
}

/// Whether the request of an entry is under way. Another one that has its place and its time limit is as good.
fn is_open(entry: &Entry, operations: &Operations) -> bool {
    let Reverse((deadline, index)) = entry;
    let operation = operations.get(*index);
    operation.is_open && operation.draft.deadline == *deadline
}

impl Deadlines {
    /// A request was begun.
    pub(super) fn add(&mut self, index: OperationIndex, operations: &Operations) {
        if self.entries.len() > SPARE_ENTRIES + 2 * operations.open_count() {
            self.entries.retain(|entry| is_open(entry, operations));
        }
        self.entries.push(Reverse((operations.get(index).draft.deadline, index)));
    }

    /// When time limits are to be looked at, if that is before `limit`; else `limit`.
    pub(super) fn next_before(&mut self, limit: Instant, operations: &Operations) -> Instant {
        while let Some(entry) = self.entries.peek() {
            let Reverse((deadline, _)) = entry;
            let due = self.rests_until.max(*deadline);
            if due >= limit || is_open(entry, operations) {
                return due.min(limit);
            }
            self.entries.pop();
        }
        limit
    }

    /// A request whose time limit has passed, until there is none; then none is looked for until the clock has moved on.
    pub(super) fn next_passed(&mut self, now: Instant, operations: &Operations) -> Option<OperationIndex> {
        if now < self.rests_until {
            return None;
        }
        while let Some(Reverse((deadline, index))) = self.entries.peek().copied() {
            if deadline > now {
                break;
            }
            let passed = self.entries.pop().filter(|entry| is_open(entry, operations));
            if passed.is_some() {
                return Some(index);
            }
        }
        self.rests_until = now + RESOLUTION;
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::body_budget::BodyBudget;

    fn at(ms: u64) -> Instant {
        Instant::at(Duration::from_millis(ms))
    }

    /// Begin a request with this time limit.
    fn begin(deadlines: &mut Deadlines, operations: &mut Operations, deadline: Instant) -> OperationIndex {
        let index = operations.open(0);
        operations.draft_mut(index).deadline = deadline;
        deadlines.add(index, operations);
        index
    }

    fn passed(deadlines: &mut Deadlines, operations: &mut Operations, now: Instant) -> Vec<Instant> {
        let mut passed = Vec::new();
        while let Some(index) = deadlines.next_passed(now, operations) {
            passed.push(operations.get(index).draft.deadline);
            operations.close(index);
        }
        passed
    }

    proptest! {
        /// Exactly those end whose time limit has passed and that have not ended before, the earliest first.
        #[test]
        fn each_request_ends_once_and_in_its_time(
            begun in proptest::collection::vec((0_u64..2_000, 1_u64..500, 0_u64..500), 1..300),
        ) {
            let mut operations = Operations::new(&BodyBudget::new(0));
            let mut deadlines = Deadlines::default();
            let mut begun = begun;
            begun.sort_unstable();
            let mut open: Vec<(u64, OperationIndex, u64)> = Vec::new();
            let mut begun = begun.into_iter().peekable();
            for now in (0..3_000).step_by(2) {
                let ended: Vec<_> = open.extract_if(.., |(ends, ..)| *ends <= now).collect();
                ended.into_iter().for_each(|(_, index, _)| operations.close(index));
                while let Some((from, limit, takes)) = begun.next_if(|(from, ..)| *from <= now) {
                    let index = begin(&mut deadlines, &mut operations, at(from + limit));
                    open.push((from + takes, index, from + limit));
                }
                let mut due: Vec<u64> = open.extract_if(.., |(.., deadline)| *deadline <= now).map(|(.., d)| d).collect();
                due.sort_unstable();
                let due: Vec<Instant> = due.into_iter().map(at).collect();
                prop_assert_eq!(passed(&mut deadlines, &mut operations, at(now)), due);
                let next = open.iter().map(|(.., deadline)| at(*deadline)).min().unwrap_or(at(9_000));
                prop_assert_eq!(deadlines.next_before(at(9_000), &operations), next.max(at(now + 1)));
            }
        }
    }

    #[test]
    fn requests_that_have_ended_do_not_stay() {
        let mut operations = Operations::new(&BodyBudget::new(0));
        let mut deadlines = Deadlines::default();
        for n in 0..100_000 {
            let index = begin(&mut deadlines, &mut operations, at(3_600_000 + n));
            operations.close(index);
        }
        assert!(deadlines.entries.len() <= SPARE_ENTRIES + 2, "{}", deadlines.entries.len());
        assert_eq!(deadlines.next_before(Instant::NEVER, &operations), Instant::NEVER);
    }
}
