//! Over how many of its writers a store spreads the users.
//!
//! A group costs its round trips and wake-ups whatever is in it. Where commands come so close together that groups of a few
//! are written at once, fewer writers with larger groups do the same work for less. Where each command is alone, further
//! writers cost nothing, and it waits for no other's group. Where many wait, all are needed; and where a group does not
//! end, because another program has locked a row, the others' users must not wait for it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Groups of fewer commands are worth merging, unless they have fewer than [`MIN_SHARED`].
const SMALL: usize = 24;
/// Commands of a group that shares its cost.
const MIN_SHARED: usize = 3;
/// As many commands that wait for one writer are too many.
const MANY_WAITING: usize = 64;
/// Commands wait, and no group has begun for this long: longer than a commit takes, also on a busy machine.
const STALLED: Duration = Duration::from_secs(1);

/// The number of partitions, which follows from the groups. A user's partition changes with it: that two writers have
/// commands of one user at once is what replicas do as well.
#[derive(Debug)]
pub(super) struct Partitions {
    most: usize,
    used: AtomicUsize,
    started: Instant,
    /// When the last group began, in milliseconds since `started`.
    last_begun_ms: AtomicU64,
}

impl Partitions {
    /// As many as there are writers, at least 1.
    pub(super) fn new(writers: usize) -> Self {
        let most = writers.max(1);
        let (used, last_begun_ms) = (AtomicUsize::new(most), AtomicU64::default());
        Self { most, used, started: Instant::now(), last_begun_ms }
    }

    /// The partition of a user.
    pub(super) fn of(&self, hash: u64) -> usize {
        let used = self.used.load(Ordering::Relaxed);
        // The remainder is below a count of connections.
        usize::try_from(hash % used as u64).unwrap_or_default()
    }

    /// After as many commands have been found waiting for one writer.
    pub(super) fn found_waiting(&self, commands: usize) {
        let since_begun_ms = self.elapsed_ms().saturating_sub(self.last_begun_ms.load(Ordering::Relaxed));
        self.found(commands, Duration::from_millis(since_begun_ms));
    }

    fn found(&self, commands: usize, since_begun: Duration) {
        if commands >= MANY_WAITING || (commands > 0 && since_begun > STALLED) {
            self.add();
        }
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// After a writer has begun a group of this many commands.
    pub(super) fn begun(&self, commands: usize) {
        self.last_begun_ms.store(self.elapsed_ms(), Ordering::Relaxed);
        if commands < 2 {
            self.add();
        } else if (MIN_SHARED..SMALL).contains(&commands) {
            self.change(|used| (used > 1).then(|| used - 1));
        }
    }

    fn add(&self) {
        self.change(|used| (used < self.most).then(|| used + 1));
    }

    fn change(&self, to: impl Fn(usize) -> Option<usize>) {
        let _unchanged = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Partitions in use after rounds in each of which every writer in use begins a group of its part of the commands.
    fn used_after(partitions: &Partitions, rounds: usize, commands: usize) -> usize {
        for _ in 0..rounds {
            let used = partitions.used.load(Ordering::Relaxed);
            for _ in 0..used {
                partitions.found(commands / used, Duration::ZERO);
                partitions.begun((commands / used).max(1));
            }
        }
        partitions.used.load(Ordering::Relaxed)
    }

    #[test]
    fn small_groups_are_merged_and_commands_alone_or_in_large_groups_are_spread() {
        let partitions = Partitions::new(4);
        for (commands, used) in [(1, 4), (16, 1), (1_000, 4), (48, 1), (1, 4), (300, 4)] {
            assert_eq!(used_after(&partitions, 20, commands), used, "{commands} at once");
        }
        assert!((0..100).all(|hash| partitions.of(hash) < 4));
        assert_eq!(used_after(&Partitions::new(1), 5, 1_000), 1);
    }

    #[test]
    fn a_group_that_does_not_end_holds_up_the_users_of_its_partition_only() {
        let partitions = Partitions::new(4);
        assert_eq!(used_after(&partitions, 20, 16), 1);
        partitions.found(0, STALLED * 2);
        partitions.found(5, STALLED);
        assert_eq!(partitions.used.load(Ordering::Relaxed), 1);
        (0..3).for_each(|_| partitions.found(5, STALLED * 2));
        assert_eq!(partitions.used.load(Ordering::Relaxed), 4);
    }
}
