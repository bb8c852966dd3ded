//! How late a task is woken that measures it every few milliseconds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::control::{CHECK_INTERVAL, lateness};

/// The checks of a process, one after the other.
#[derive(Debug)]
pub(super) struct Checks {
    /// How late one may be.
    target: Duration,
    /// The first one began, and so much later the one that goes on.
    first: Instant,
    begun_us: AtomicU64,
    /// Of those that have ended.
    lateness_us: AtomicU64,
    is_last_late: AtomicBool,
}

impl Checks {
    pub(super) fn begin(target: Duration) -> Self {
        Self {
            target,
            first: Instant::now(),
            begun_us: AtomicU64::new(0),
            lateness_us: AtomicU64::new(0),
            is_last_late: AtomicBool::new(false),
        }
    }

    /// Ends one, and begins the next; returns how long it took.
    pub(super) fn end(&self) -> Duration {
        let now = self.first.elapsed();
        let took = now.saturating_sub(self.begun());
        let delay = took.saturating_sub(CHECK_INTERVAL);
        let lateness = lateness(self.lateness(), delay, self.target);
        self.lateness_us.store(lateness.as_micros() as u64, Ordering::Relaxed);
        self.is_last_late.store(delay > self.target, Ordering::Relaxed);
        self.begun_us.store(now.as_micros() as u64, Ordering::Relaxed);
        took
    }

    fn begun(&self) -> Duration {
        Duration::from_micros(self.begun_us.load(Ordering::Relaxed))
    }

    fn lateness(&self) -> Duration {
        Duration::from_micros(self.lateness_us.load(Ordering::Relaxed))
    }

    /// Whether the last one was late.
    pub(super) fn is_last_late(&self) -> bool {
        self.is_last_late.load(Ordering::Relaxed)
    }

    /// Whether the last ones were late, with the one that goes on as far as it is late by now.
    pub(super) fn are_late(&self) -> bool {
        let delay = self.first.elapsed().saturating_sub(self.begun() + CHECK_INTERVAL);
        let ended = self.lateness();
        ended.max(lateness(ended, delay, self.target)) > self.target
    }

    /// As if those that have ended had been so late.
    #[cfg(test)]
    pub(super) fn assume(&self, lateness: Duration) {
        self.lateness_us.store(lateness.as_micros() as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_late_before_the_one_that_goes_on_ends() {
        let target = Duration::from_millis(10);
        let (checks, begun) = (Checks::begin(target), Instant::now());
        checks.assume(target / 2);
        while !checks.are_late() {
            assert!(begun.elapsed() < Duration::from_secs(30), "it is late by now");
            std::thread::yield_now();
        }
        assert!(!checks.is_last_late());
    }
}
