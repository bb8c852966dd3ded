//! Which of the iterations that all virtual users share one process makes.

use std::ops::Range;

/// Of all things of a workload those of consecutive shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SharedIterations {
    first: u32,
    width: u32,
    /// Of so many.
    count: u32,
}

impl SharedIterations {
    pub(crate) const WHOLE: SharedIterations = SharedIterations { first: 0, width: 1, count: 1 };

    /// Those of these shares of so many.
    pub(crate) fn new(shares: Range<u32>, count: u32) -> SharedIterations {
        SharedIterations { first: shares.start, width: shares.end.saturating_sub(shares.start), count }
    }

    /// How many of `total` they are.
    pub(crate) fn share(self, total: u64) -> u64 {
        let [first, width, count] = [self.first, self.width, self.count.max(1)].map(u64::from);
        total / count * width + (total % count).saturating_sub(first).min(width)
    }

    /// The number within the workload of the `k`-th of them, both from 0.
    pub(crate) fn nth(self, k: u64) -> u64 {
        let [first, width, count] = [self.first, self.width.max(1), self.count].map(u64::from);
        (k / width).saturating_mul(count).saturating_add(first + k % width)
    }
}
