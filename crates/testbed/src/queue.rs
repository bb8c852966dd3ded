//! A queue whose capacity is known exactly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// First come, first served by a fixed number of workers, each taking the same time for every request.
///
/// Its capacity is `workers / service time`: 4 workers of 10 ms serve at most 400 requests a second. No
/// worker exists; the instant at which one would finish follows from the requests before it.
#[derive(Debug)]
pub(crate) struct Queue {
    free_at_ns: BinaryHeap<Reverse<u64>>,
    service_ns: u64,
}

impl Queue {
    /// An idle queue; at least one worker.
    pub(crate) fn new(workers: u32, service_ns: u64) -> Self {
        Queue { free_at_ns: (0..workers.max(1)).map(|_| Reverse(0)).collect(), service_ns }
    }

    /// Takes in a request and says when its service ends.
    pub(crate) fn admit(&mut self, received_ns: u64) -> u64 {
        let Reverse(free_ns) = self.free_at_ns.pop().expect("a queue has at least one worker");
        let done_ns = received_ns.max(free_ns).saturating_add(self.service_ns);
        self.free_at_ns.push(Reverse(done_ns));
        done_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workers_serve_two_at_once_and_the_third_waits() {
        let mut queue = Queue::new(2, 10);
        assert_eq!([100, 101, 102, 103].map(|at| queue.admit(at)), [110, 111, 120, 121]);
        assert_eq!(queue.admit(500), 510, "idle again");
    }
}
