//! Tasks that were accepted and are not handed on yet: a bounded queue, the highest priority first, and in the order of
//! arrival within one priority. A full queue sheds tasks of the lowest priority for tasks of a higher one, if it may
//! shed at all. Where it may not, its last slots are reserved for higher priorities, so that the lowest is refused
//! first.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use kit::limit::{Limit, Permit};
use tokio::sync::Notify;

use crate::entry::QueueEntry;
use crate::sample::Priority;

/// Whether accepted tasks may be dropped for tasks of a higher priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shedding {
    /// They may: they are in memory only, which promises nothing.
    Allowed,
    /// They may not: handing them on was promised.
    Never,
}

/// The part of a capacity that tasks of a priority may fill where nothing may be shed: a tenth is reserved for
/// priorities above `LOW`, another for those above `MEDIUM`.
#[must_use]
pub fn usable_capacity(priority: Priority, capacity: u64) -> u64 {
    match priority {
        Priority::Low => capacity - capacity / 5,
        Priority::Medium => capacity - capacity / 10,
        Priority::High => capacity,
    }
}

/// The queue of one process.
#[derive(Debug)]
pub struct Queue {
    slots: Limit,
    shedding: Shedding,
    levels: Mutex<[VecDeque<QueueEntry>; 3]>,
    arrived: Notify,
    shed: [AtomicU64; 3],
}

/// There is no space, even if every task of a lower priority were shed, or the rest is reserved for higher priorities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFull;

impl Queue {
    /// An empty queue with the capacity of `slots`.
    #[must_use]
    pub fn new(slots: Limit, shedding: Shedding) -> Self {
        let (levels, shed) = (Mutex::default(), Default::default());
        Self { slots, shedding, levels, arrived: Notify::new(), shed }
    }

    /// Slots for tasks of these priorities: for all of them, or for none.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn reserve(
        &self,
        priorities: impl ExactSizeIterator<Item = Priority> + Clone,
    ) -> Result<Vec<Permit>, QueueFull> {
        if self.shedding == Shedding::Never {
            return self.reserve_by_priority(priorities);
        }
        let mut slots = Vec::with_capacity(priorities.len());
        slots.extend(priorities.clone().map_while(|_| self.slots.enter()));
        let missing = priorities.len() - slots.len();
        if missing > 0 {
            slots.extend(self.shed_for(priorities.collect(), missing)?);
        }
        Ok(slots)
    }

    /// Slots for these priorities, the lowest first: it has the fewest to choose from.
    fn reserve_by_priority(
        &self,
        priorities: impl Iterator<Item = Priority> + Clone,
    ) -> Result<Vec<Permit>, QueueFull> {
        let of = |level: Priority| priorities.clone().filter(move |priority| *priority == level);
        let lowest_first = Priority::ALL.into_iter().flat_map(of);
        let slot = |priority| self.slots.enter_within(self.usable_slots(priority)).ok_or(QueueFull);
        lowest_first.map(slot).collect()
    }

    fn usable_slots(&self, priority: Priority) -> usize {
        // At most `slots.max()`, which is a `usize`.
        usable_capacity(priority, self.slots.max() as u64) as usize
    }

    /// Sheds `missing` tasks, each for a request's task of a higher priority; returns their slots.
    fn shed_for(&self, mut priorities: Vec<Priority>, missing: usize) -> Result<Vec<Permit>, QueueFull> {
        priorities.sort_unstable_by(|a, b| b.cmp(a));
        let mut levels = self.lock();
        let queued = |priority: Priority| std::iter::repeat_n(priority, levels[priority.level()].len());
        let victims: Vec<Priority> = Priority::ALL.into_iter().flat_map(queued).take(missing).collect();
        let is_lower = |(victim, arriving): (&Priority, &Priority)| victim < arriving;
        if victims.len() < missing || !victims.iter().zip(&priorities).all(is_lower) {
            return Err(QueueFull);
        }
        let mut slots = Vec::with_capacity(missing);
        for victim in victims {
            // The newest has waited least.
            slots.extend(levels[victim.level()].pop_back().and_then(|entry| entry.slot));
            self.shed[victim.level()].fetch_add(1, Ordering::Relaxed);
        }
        Ok(slots)
    }

    /// Adds entries that have their slots.
    pub fn push(&self, entries: impl IntoIterator<Item = QueueEntry>) {
        let mut levels = self.lock();
        for entry in entries {
            levels[entry.priority.level()].push_back(entry);
        }
        drop(levels);
        self.arrived.notify_one();
    }

    /// Puts entries that could not be handed on back, in front.
    pub fn put_back(&self, entries: Vec<QueueEntry>) {
        let mut levels = self.lock();
        for entry in entries.into_iter().rev() {
            levels[entry.priority.level()].push_front(entry);
        }
        drop(levels);
        self.arrived.notify_one();
    }

    /// Takes up to `most` entries, the highest priority first; none from an empty queue.
    #[must_use]
    pub fn take(&self, most: usize) -> Vec<QueueEntry> {
        let mut levels = self.lock();
        let mut taken = Vec::with_capacity(most.min(levels.iter().map(VecDeque::len).sum()));
        for level in levels.iter_mut().rev() {
            let count = level.len().min(most - taken.len());
            taken.extend(level.drain(..count));
        }
        let is_more_queued = levels.iter().any(|level| !level.is_empty());
        drop(levels);
        if is_more_queued {
            // Another worker may be waiting.
            self.arrived.notify_one();
        }
        taken
    }

    /// Returns when the queue may not be empty.
    pub async fn arrived(&self) {
        while self.depth() == 0 {
            self.arrived.notified().await;
        }
    }

    /// Entries that wait to be taken.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.lock().iter().map(VecDeque::len).sum()
    }

    /// Whether a request may be accepted whose header announces this priority. A request that announces none counts as
    /// `LOW` where tasks would have to be shed for it. Where nothing may be shed, it may be accepted while there is any
    /// free slot.
    #[must_use]
    pub fn has_space_for(&self, announced: Option<Priority>) -> bool {
        match (self.shedding, announced) {
            (Shedding::Never, Some(priority)) => self.slots.taken() < self.usable_slots(priority),
            (Shedding::Never, None) => !self.slots.is_full(),
            (Shedding::Allowed, _) => {
                let below = ..announced.unwrap_or(Priority::Low).level();
                !self.slots.is_full() || self.lock()[below].iter().any(|level| !level.is_empty())
            }
        }
    }

    /// How many tasks of a priority were shed for tasks of a higher one.
    #[must_use]
    pub fn shed(&self, priority: Priority) -> u64 {
        self.shed[priority.level()].load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, [VecDeque<QueueEntry>; 3]> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
