//! How often a page is made.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Between the beginnings of two pages, at least.
const LEAST: Duration = Duration::from_secs(2);

/// The page takes at most the time of a processor divided by this.
const SHARE_OF: u32 = 100;

/// When the next page may be made.
#[derive(Debug, Default)]
pub(super) struct Pace {
    next: Option<Instant>,
}

impl Pace {
    /// How long the next page has to wait at `now`.
    pub(super) fn wait(&self, now: Instant) -> Duration {
        self.next.map_or(Duration::ZERO, |next| next.saturating_duration_since(now))
    }

    /// A page was begun at `begun`; since the one before, its making and its sending have taken `cost` of a processor.
    pub(super) fn made(&mut self, begun: Instant, cost: Duration) {
        self.next = begun.checked_add(cost.saturating_mul(SHARE_OF).max(LEAST));
    }
}

/// The time that the calling thread has had on a processor.
pub(super) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of any cost, one after the other as soon as each may be made, take a hundredth of the time.
    #[test]
    fn pages_take_at_most_a_hundredth_of_a_processor() {
        let start = Instant::now();
        let (mut now, mut pace, mut spent) = (start, Pace::default(), Duration::ZERO);
        for cost_ms in [3, 40, 700, 5, 2_000, 19, 21] {
            now += pace.wait(now);
            let cost = Duration::from_millis(cost_ms);
            pace.made(now, cost);
            // It may take longer than it costs: its priority is low.
            now += cost * 3;
            spent += cost;
            assert!(pace.wait(now) + cost * 3 >= LEAST);
        }
        now += pace.wait(now);
        assert!(spent * SHARE_OF <= now - start);
    }
}
