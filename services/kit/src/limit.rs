//! A bound on what is in progress at once. What does not fit is refused at once, never queued without bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of slots. Clones share the slots.
#[derive(Debug, Clone)]
pub struct Limit {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    max: usize,
    taken: AtomicUsize,
}

/// One slot, freed when dropped.
#[derive(Debug)]
pub struct Permit {
    inner: Arc<Inner>,
}

impl Limit {
    /// A limit with `max` slots.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { inner: Arc::new(Inner { max, taken: AtomicUsize::new(0) }) }
    }

    /// Takes a slot; `None` when all are taken.
    #[must_use]
    pub fn enter(&self) -> Option<Permit> {
        self.enter_within(self.inner.max)
    }

    /// Takes a slot if fewer than `most` are taken: the others are reserved for other callers.
    #[must_use]
    pub fn enter_within(&self, most: usize) -> Option<Permit> {
        let before = self.inner.taken.fetch_add(1, Ordering::Relaxed);
        if before >= self.inner.max.min(most) {
            self.inner.taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Permit { inner: Arc::clone(&self.inner) })
    }

    /// Whether all slots are taken now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.taken() >= self.inner.max
    }

    /// Slots in all.
    #[must_use]
    pub fn max(&self) -> usize {
        self.inner.max
    }

    /// Slots taken now.
    #[must_use]
    pub fn taken(&self) -> usize {
        self.inner.taken.load(Ordering::Relaxed).min(self.inner.max)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.inner.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_limit_refuses_and_a_dropped_permit_frees_its_slot() {
        let limit = Limit::new(2);
        let first = limit.enter().unwrap();
        let _second = limit.enter().unwrap();
        assert!(limit.enter().is_none());
        assert_eq!(limit.taken(), 2);
        drop(first);
        assert!(limit.enter_within(1).is_none());
        assert!(limit.enter_within(9).is_some());
    }
}
