//! How much of responses a run keeps at once, over all of its loops: what targets send must not fill the memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What a run keeps of bodies and extracted values at once, unless [`crate::Program::with_body_budget`] says otherwise.
pub const BODY_BUDGET_BYTES: usize = 256 << 20;

/// As much of each body is kept without asking: most are shorter, and their loops share nothing.
pub(crate) const UNCOUNTED_BYTES: usize = 64 << 10;

/// The bytes that are left of a run's budget.
#[derive(Debug)]
pub struct BodyBudget {
    total: usize,
    left: AtomicUsize,
    /// How often a body or value was cut because nothing was left.
    refusals: AtomicU64,
}

impl BodyBudget {
    /// Of so many bytes.
    pub fn new(total: usize) -> Arc<BodyBudget> {
        Arc::new(BodyBudget { total, left: AtomicUsize::new(total), refusals: AtomicU64::new(0) })
    }

    pub(crate) fn refusals(&self) -> u64 {
        self.refusals.load(Ordering::Relaxed)
    }

    /// Count what was cut in another process.
    pub(crate) fn add_refusals(&self, count: u64) {
        self.refusals.fetch_add(count, Ordering::Relaxed);
    }

    /// Why something was cut, in words.
    pub(crate) fn explain(&self) -> String {
        format!(
            "the bodies that plimsoll keeps at once for checks take all of their {} MiB, which is a limit of plimsoll's",
            self.total >> 20
        )
    }

    fn take(&self, bytes: usize) -> bool {
        let taken = |left: usize| left.checked_sub(bytes);
        let is_taken = self.left.try_update(Ordering::Relaxed, Ordering::Relaxed, taken).is_ok();
        if !is_taken {
            self.refusals.fetch_add(1, Ordering::Relaxed);
        }
        is_taken
    }

    fn give_back(&self, bytes: usize) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// That nothing is left of a budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BudgetError(String);

/// The part of the budget that something takes which outlives its response, such as a body that a script holds. All of its bytes
/// count, and are given back when it is dropped.
#[derive(Debug)]
pub struct HeldBytes {
    budget: Arc<BodyBudget>,
    bytes: usize,
}

impl HeldBytes {
    /// Nothing yet.
    pub fn new(budget: &Arc<BodyBudget>) -> HeldBytes {
        HeldBytes { budget: budget.clone(), bytes: 0 }
    }

    /// Take so many more.
    ///
    /// # Errors
    /// [`BudgetError`] when there are not so many left; what was taken before stays.
    pub fn grow(&mut self, by: usize) -> Result<(), BudgetError> {
        if !self.budget.take(by) {
            return Err(BudgetError(self.budget.explain()));
        }
        self.bytes += by;
        Ok(())
    }

    /// Give back all but so many.
    pub fn shrink_to(&mut self, bytes: usize) {
        let surplus = self.bytes.saturating_sub(bytes);
        self.budget.give_back(surplus);
        self.bytes -= surplus;
    }

    /// How many it has taken.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// The part of the budget that one response, or one virtual user, has.
#[derive(Debug, Default)]
pub(crate) struct BodyLease {
    /// None: everything is kept.
    budget: Option<Arc<BodyBudget>>,
    bytes: usize,
    is_refused: bool,
}

impl BodyLease {
    pub(crate) fn new(budget: &Arc<BodyBudget>) -> BodyLease {
        BodyLease { budget: Some(budget.clone()), ..BodyLease::default() }
    }

    /// Whether so many bytes may be kept. It asks the budget, which the loops share, only beyond
    /// [`UNCOUNTED_BYTES`], and each time for twice as much. Once it is refused nothing is covered: what was kept would
    /// have a hole.
    pub(crate) fn covers(&mut self, bytes: usize) -> bool {
        if self.is_refused || bytes <= self.bytes.max(UNCOUNTED_BYTES) {
            return !self.is_refused;
        }
        let Some(budget) = self.budget.as_ref() else { return true };
        let enough = bytes.next_power_of_two();
        self.is_refused = !budget.take(enough - self.bytes);
        if !self.is_refused {
            self.bytes = enough;
        }
        !self.is_refused
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Something else is kept from now on.
    pub(crate) fn renew(&mut self) {
        self.is_refused = false;
    }

    /// Why something was cut; none where nothing was.
    pub(crate) fn refusal(&self) -> Option<String> {
        self.budget.as_ref().filter(|_| self.is_refused).map(|budget| budget.explain())
    }

    /// Gives everything back.
    pub(crate) fn end(&mut self) {
        self.is_refused = false;
        if let (Some(budget), bytes @ 1..) = (&self.budget, std::mem::take(&mut self.bytes)) {
            budget.give_back(bytes);
        }
    }
}

impl Drop for BodyLease {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_counts_to_the_byte_until_it_is_dropped() {
        let budget = BodyBudget::new(100);
        let mut held = HeldBytes::new(&budget);
        held.grow(60).unwrap();
        held.grow(40).unwrap();
        assert!(held.grow(1).is_err() && HeldBytes::new(&budget).grow(1).is_err());
        assert_eq!((held.bytes(), budget.refusals()), (100, 2));
        held.shrink_to(30);
        held.shrink_to(50);
        let mut other = HeldBytes::new(&budget);
        other.grow(70).unwrap();
        drop(held);
        other.grow(30).unwrap();
        drop(other);
        assert_eq!(budget.left.load(Ordering::Relaxed), 100);
    }

    #[test]
    fn small_bodies_are_not_counted_and_large_ones_share_the_budget() {
        let budget = BodyBudget::new(1 << 20);
        let (mut first, mut second) = (BodyLease::new(&budget), BodyLease::new(&budget));
        assert!(first.covers(UNCOUNTED_BYTES) && second.covers(1));
        assert_eq!(budget.left.load(Ordering::Relaxed), 1 << 20);
        assert!(first.covers(600_000) && first.covers(1 << 20));
        assert!(!second.covers(100_000) && !second.covers(1), "what is kept has no hole");
        assert!(second.refusal().is_some_and(|why| why.contains("1 MiB")) && first.refusal().is_none());
        assert_eq!(budget.refusals(), 1);
        drop(first);
        assert!(!second.covers(100_000));
        second.renew();
        assert!(second.covers(1 << 20) && second.refusal().is_none());
        second.end();
        assert_eq!(budget.left.load(Ordering::Relaxed), 1 << 20);
    }
}
