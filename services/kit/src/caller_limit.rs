//! A bound on the requests of one caller at once, and on what they began and left, so that no caller takes the places of
//! all.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The same bound for each caller. Clones share the counts.
#[derive(Debug)]
pub struct CallerLimit<C: Hash + Eq> {
    max: usize,
    /// Only callers with requests are in it.
    requests: Arc<Mutex<HashMap<C, usize>>>,
}

/// A caller's place: that of a request, and of what it began when this outlives it. Freed with the last clone.
#[derive(Debug)]
pub struct CallerPlace<C: Hash + Eq> {
    place: Arc<CallerSlot<C>>,
}

#[derive(Debug)]
struct CallerSlot<C: Hash + Eq> {
    limit: CallerLimit<C>,
    caller: C,
}

impl<C: Hash + Eq> CallerLimit<C> {
    /// At most `max` requests of each caller at once.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { max, requests: Arc::default() }
    }

    /// A place; `None` when the caller has as many requests as may be.
    #[must_use]
    pub fn enter<Q>(&self, caller: &Q) -> Option<CallerPlace<C>>
    where
        C: Borrow<Q>,
        Q: ToOwned<Owned = C> + Hash + Eq + ?Sized,
    {
        let mut requests = self.lock();
        let count = requests.get(caller).copied().unwrap_or_default();
        if count >= self.max {
            return None;
        }
        requests.insert(caller.to_owned(), count + 1);
        let place = CallerSlot { limit: self.clone(), caller: caller.to_owned() };
        Some(CallerPlace { place: Arc::new(place) })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<C, usize>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Hash + Eq> CallerPlace<C> {
    #[must_use]
    pub fn caller(&self) -> &C {
        &self.place.caller
    }
}

impl<C: Hash + Eq> Clone for CallerLimit<C> {
    fn clone(&self) -> Self {
        Self { max: self.max, requests: Arc::clone(&self.requests) }
    }
}

impl<C: Hash + Eq> Clone for CallerPlace<C> {
    fn clone(&self) -> Self {
        Self { place: Arc::clone(&self.place) }
    }
}

impl<C: Hash + Eq> Drop for CallerSlot<C> {
    fn drop(&mut self) {
        let mut requests = self.limit.lock();
        if let Some(count) = requests.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                requests.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_a_bound_of_their_own_and_nothing_is_kept_of_callers_without_requests() {
        let limit = CallerLimit::<String>::new(2);
        let held = [limit.enter("ann").unwrap(), limit.enter("ann").unwrap()];
        assert!(limit.enter("ann").is_none());
        assert!(limit.enter("bob").is_some());
        let outlives = held[0].clone();
        drop(held);
        let second = limit.enter("ann").unwrap();
        assert!(limit.enter("ann").is_none(), "a clone has the place of the first");
        drop((outlives, second));
        assert!(limit.enter("ann").is_some());
        assert!(limit.lock().is_empty());
        let none = CallerLimit::<String>::new(0);
        assert!(none.enter("ann").is_none() && none.lock().is_empty());
    }
}
