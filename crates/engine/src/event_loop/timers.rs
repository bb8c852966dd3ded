//! The timers that iterations asked for, the earliest first.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

use evidence::Instant;

use crate::exchange::OperationName;
use crate::index::UserIndex;
use crate::iteration::TimerKind;

/// So many cancelled timers are kept until they would have fired, however few others there are.
const SPARE_TIMERS: usize = 1_024;

/// A timer of an iteration. It is ignored when the virtual user has begun another iteration since, which has another serial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Timer {
    pub(super) at: Instant,
    pub(super) user: UserIndex,
    pub(super) serial: u32,
    pub(super) name: OperationName,
    pub(super) kind: TimerKind,
}

impl Timer {
    fn key(&self) -> (UserIndex, u32, OperationName) {
        (self.user, self.serial, self.name)
    }
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    all: BinaryHeap<Reverse<Timer>>,
    /// Those of them that were cancelled.
    cancelled: HashSet<(UserIndex, u32, OperationName)>,
}

impl Timers {
    pub(super) fn add(&mut self, timer: Timer) {
        self.all.push(Reverse(timer));
    }

    /// The timer of this name is not to fire. Once those are the larger part they are dropped.
    pub(super) fn cancel(&mut self, user: UserIndex, serial: u32, name: OperationName) {
        self.cancelled.insert((user, serial, name));
        if self.cancelled.len() > SPARE_TIMERS.max(self.all.len() / 2) {
            let Timers { all, cancelled } = self;
            all.retain(|Reverse(timer)| !cancelled.contains(&timer.key()));
            cancelled.clear();
            all.shrink_to(2 * all.len() + SPARE_TIMERS);
        }
    }

    /// When the next one fires.
    pub(super) fn next(&self) -> Instant {
        self.all.peek().map_or(Instant::NEVER, |Reverse(timer)| timer.at)
    }

    /// A timer that fires by `now`.
    pub(super) fn take(&mut self, now: Instant) -> Option<Timer> {
        loop {
            let Reverse(timer) = self.all.peek().copied().filter(|Reverse(timer)| timer.at <= now)?;
            self.all.pop();
            if self.cancelled.is_empty() || !self.cancelled.remove(&timer.key()) {
                return Some(timer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn timer(seconds: u64, name: OperationName) -> Timer {
        let at = Instant::at(Duration::from_secs(seconds));
        Timer { at, user: UserIndex(3), serial: 7, name, kind: TimerKind::Scheduled }
    }

    #[test]
    fn timers_fire_in_their_order_except_those_that_were_cancelled() {
        let mut timers = Timers::default();
        [(5, 1), (3, 2), (4, 3)].into_iter().for_each(|(at, name)| timers.add(timer(at, name)));
        timers.cancel(UserIndex(3), 7, 3);
        assert_eq!(timers.next(), timer(3, 2).at);
        assert_eq!(timers.take(timer(2, 0).at), None);
        let now = timer(9, 0).at;
        assert_eq!(
            [timers.take(now), timers.take(now)].map(|one| one.map(|timer| timer.name)),
            [Some(2), Some(1)]
        );
        assert_eq!((timers.take(now), timers.next()), (None, Instant::NEVER));
    }

    #[test]
    fn cancelled_timers_do_not_stay_until_they_would_have_fired() {
        let mut timers = Timers::default();
        for name in 0..100_000 {
            timers.add(timer(3_600, name));
            timers.cancel(UserIndex(3), 7, name);
        }
        assert!(timers.all.len() <= SPARE_TIMERS + 1, "{}", timers.all.len());
    }
}
