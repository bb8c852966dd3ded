//! What was accepted and is not handed on yet: bounded, the highest priority first, and in the order of arrival within
//! one. When it is full, what matters least makes room for what matters more, if it may be shed at all. Where it may
//! not, the last places are kept for what matters more, so that the lowest is refused first.

use crate::entry::Entry;
use crate::sample::Priority;
use kit::limit::{Limit, Permit};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Whether what was accepted may be dropped for what matters more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shedding {
    /// It is in memory alone, which promises nothing.
    Allowed,
    /// It was promised to be handed on.
    Never,
}

/// How many of so many places may be taken when something of a priority comes that can never be shed: a tenth is kept
/// for what is above `MEDIUM`, another for what is above `LOW`.
#[must_use]
pub fn share(priority: Priority, of: u64) -> u64 {
    match priority {
        Priority::Low => of - of / 5,
        Priority::Medium => of - of / 10,
        Priority::High => of,
    }
}

/// The queue of one process.
#[derive(Debug)]
pub struct Queue {
    places: Limit,
    shedding: Shedding,
    levels: Mutex<[VecDeque<Entry>; 3]>,
    arrived: Notify,
    shed: [AtomicU64; 3],
}

/// There is no room, also when everything that matters less were shed, or what is left is kept for what matters more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

impl Queue {
    /// An empty queue in which as many entries fit as `places` has.
    #[must_use]
    pub fn new(places: Limit, shedding: Shedding) -> Self {
        let (levels, shed) = (Mutex::default(), Default::default());
        Self { places, shedding, levels, arrived: Notify::new(), shed }
    }

    /// Places for entries of these priorities: for all of them, or for none.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn reserve(
        &self,
        wanted: impl ExactSizeIterator<Item = Priority> + Clone,
    ) -> Result<Vec<Permit>, Full> {
        if self.shedding == Shedding::Never {
            return self.reserve_shares(wanted);
        }
        let mut places = Vec::with_capacity(wanted.len());
        places.extend(wanted.clone().map_while(|_| self.places.enter()));
        let missing = wanted.len() - places.len();
        if missing > 0 {
            places.extend(self.make_room(wanted.collect(), missing)?);
        }
        Ok(places)
    }

    /// Places of the shares of these priorities, the lowest first: they have the fewest to choose from.
    fn reserve_shares(&self, wanted: impl Iterator<Item = Priority> + Clone) -> Result<Vec<Permit>, Full> {
        let of = |level: Priority| wanted.clone().filter(move |priority| *priority == level);
        let lowest_first = Priority::ALL.into_iter().flat_map(of);
        lowest_first.map(|priority| self.places.enter_within(self.share(priority)).ok_or(Full)).collect()
    }

    fn share(&self, priority: Priority) -> usize {
        // No more than there are places.
        share(priority, self.places.max() as u64) as usize
    }

    /// Sheds so many, each for one that matters more.
    fn make_room(&self, mut wanted: Vec<Priority>, missing: usize) -> Result<Vec<Permit>, Full> {
        wanted.sort_unstable_by(|a, b| b.cmp(a));
        let mut levels = self.lock();
        let held = |priority: Priority| std::iter::repeat_n(priority, levels[priority.level()].len());
        let victims: Vec<Priority> = Priority::ALL.into_iter().flat_map(held).take(missing).collect();
        let is_worth_it = |(victim, wanted): (&Priority, &Priority)| victim < wanted;
        if victims.len() < missing || !victims.iter().zip(&wanted).all(is_worth_it) {
            return Err(Full);
        }
        let mut places = Vec::with_capacity(missing);
        for victim in victims {
            // The newest has waited least.
            places.extend(levels[victim.level()].pop_back().and_then(|entry| entry.place));
            self.shed[victim.level()].fetch_add(1, Ordering::Relaxed);
        }
        Ok(places)
    }

    /// Adds entries that have their places.
    pub fn push(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut levels = self.lock();
        for entry in entries {
            levels[entry.priority.level()].push_back(entry);
        }
        drop(levels);
        self.arrived.notify_one();
    }

    /// Puts back what was taken and could not be handed on, in front.
    pub fn put_back(&self, entries: Vec<Entry>) {
        let mut levels = self.lock();
        for entry in entries.into_iter().rev() {
            levels[entry.priority.level()].push_front(entry);
        }
        drop(levels);
        self.arrived.notify_one();
    }

    /// Takes up to `most`, the most important first; none when there are none.
    #[must_use]
    pub fn take(&self, most: usize) -> Vec<Entry> {
        let mut levels = self.lock();
        let mut taken = Vec::with_capacity(most.min(levels.iter().map(VecDeque::len).sum()));
        for level in levels.iter_mut().rev() {
            let count = level.len().min(most - taken.len());
            taken.extend(level.drain(..count));
        }
        let is_left = levels.iter().any(|level| !level.is_empty());
        drop(levels);
        if is_left {
            // Another worker may be waiting beside this one.
            self.arrived.notify_one();
        }
        taken
    }

    /// Returns when there may be something to take.
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

    /// Whether a request may find room that says this of its samples. Who says nothing is taken to carry the lowest
    /// where something would have to be shed for it, and anything where all that counts is what it carries.
    #[must_use]
    pub fn has_room_for(&self, announced: Option<Priority>) -> bool {
        match (self.shedding, announced) {
            (Shedding::Never, Some(priority)) => self.places.taken() < self.share(priority),
            (Shedding::Never, None) => !self.places.is_full(),
            (Shedding::Allowed, _) => {
                let below = ..announced.unwrap_or(Priority::Low).level();
                !self.places.is_full() || self.lock()[below].iter().any(|level| !level.is_empty())
            }
        }
    }

    /// How many of a priority were dropped for ones that mattered more.
    #[must_use]
    pub fn shed(&self, priority: Priority) -> u64 {
        self.shed[priority.level()].load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, [VecDeque<Entry>; 3]> {
        self.levels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
