//! Heads that are longer than usual while they arrive, of all connections together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// So many at once: a target chooses how long its heads are, and a generator has many connections.
const MOST_LONG_HEADS: usize = 32;

static LONG_HEADS: AtomicUsize = AtomicUsize::new(0);

/// The right to gather one.
#[derive(Debug)]
pub(super) struct LongHead(());

impl LongHead {
    /// None where too many are gathered already.
    pub(super) fn begin() -> Option<LongHead> {
        let more = |count: usize| (count < MOST_LONG_HEADS).then_some(count + 1);
        LONG_HEADS.try_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| LongHead(()))
    }
}

impl Drop for LongHead {
    fn drop(&mut self) {
        LONG_HEADS.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_of_long_heads_is_gathered_at_once() {
        // Other tests of this program gather some as well.
        let held: Vec<LongHead> = std::iter::from_fn(LongHead::begin).take(MOST_LONG_HEADS + 1).collect();
        assert!((1..=MOST_LONG_HEADS).contains(&held.len()), "{}", held.len());
        drop(held);
        assert!(LongHead::begin().is_some());
    }
}
