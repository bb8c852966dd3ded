//! For how long requests of a pool have waited because no further connection may be opened.

use evidence::Instant;

use crate::exchange::{HeldBack, PlaceLimit};
use crate::operation::{Operation, QueuePlace};

/// The time in which a pool was limited, in all. An operation waited as much of it as was added while it waited.
#[derive(Debug, Default)]
pub(super) struct LimitedTime {
    /// Of the periods that are over.
    past_ns: u64,
    since: Option<Instant>,
    /// What limits the pool, or did last.
    limit: Option<PlaceLimit>,
}

impl LimitedTime {
    /// The pool is limited by this from now on; what limited it before does so no more.
    pub(super) fn begin(&mut self, now: Instant, limit: PlaceLimit) {
        self.since = self.since.or(Some(now));
        self.limit = Some(limit);
    }

    /// The pool is not limited any more.
    pub(super) fn end(&mut self, now: Instant) {
        self.past_ns = self.at(now);
        self.since = None;
    }

    /// How long it was limited until `now`.
    pub(super) fn at(&self, now: Instant) -> u64 {
        self.past_ns + self.since.map_or(0, |since| now.since(since).as_nanos() as u64)
    }

    /// Add the part of it in which an operation waited to what the operation was held back before.
    pub(super) fn add_to(&self, operation: &mut Operation, place: QueuePlace, now: Instant) {
        let waited = self.at(now) - place.limited_before_ns;
        if let Some(limit) = self.limit.filter(|_| waited > 0) {
            let before = operation.held_back.map_or(0, |held| held.ns);
            operation.held_back = Some(HeldBack { ns: before + waited, limit });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_budget::BodyBudget;
    use crate::index::PoolIndex;
    use crate::operation::Operations;

    #[test]
    fn a_wait_is_of_the_limit_that_the_pool_has_come_to() {
        let at = |ms| Instant::at(std::time::Duration::from_millis(ms));
        let mut operations = Operations::new(&BodyBudget::new(0));
        let (early, late) = (operations.open(0), operations.open(0));
        let mut limited = LimitedTime::default();
        let place = |since, limited: &LimitedTime| QueuePlace {
            pool: PoolIndex(0),
            since,
            limited_before_ns: limited.at(since),
        };
        limited.begin(at(10), PlaceLimit::PeerStreams);
        let of_early = place(at(10), &limited);
        limited.begin(at(20), PlaceLimit::PeerStreams);
        limited.begin(at(30), PlaceLimit::Unread);
        let of_late = place(at(31), &limited);
        limited.end(at(40));
        for (operation, place, waited_ms) in [(early, of_early, 30), (late, of_late, 9)] {
            let operation = operations.get_mut(operation);
            limited.add_to(operation, place, at(50));
            let held = HeldBack { ns: waited_ms * 1_000_000, limit: PlaceLimit::Unread };
            assert_eq!(operation.held_back, Some(held));
        }
    }
}
