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
    /// The pool is limited from now on; nothing changes where it is already.
    pub(super) fn begin(&mut self, now: Instant, limit: PlaceLimit) {
        if self.since.is_none() {
            self.since = Some(now);
            self.limit = Some(limit);
        }
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
