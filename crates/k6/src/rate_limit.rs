//! `rps`: the most requests a second of all virtual users.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Lets requests begin one after the other, each so long after the one before it that there are at most so many a second.
#[derive(Debug)]
pub struct RateLimit {
    interval_ns: u64,
    /// When the next one may begin, in nanoseconds since 1970.
    next_ns: AtomicU64,
}

impl RateLimit {
    /// So many requests a second, one or more, of all loops of a run together, of which this process has `own` of `all`.
    pub fn per_second(requests: u64, own: u32, all: u32) -> RateLimit {
        let requests_ns = requests.max(1) * u64::from(own.max(1));
        let interval_ns = 1_000_000_000 * u64::from(all.max(1)) / requests_ns;
        RateLimit { interval_ns, next_ns: AtomicU64::new(0) }
    }

    /// How long a request of now, in nanoseconds since 1970, has to wait. Its turn is taken.
    pub(crate) fn wait(&self, now_ns: u64) -> Duration {
        let take = |next: u64| Some(next.max(now_ns) + self.interval_ns);
        let next = self.next_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        Duration::from_nanos(next.unwrap_or_default().saturating_sub(now_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_begin_an_interval_apart_and_none_is_made_up_for() {
        let limit = RateLimit::per_second(10, 1, 1);
        let begin = 1_000_000_000_000;
        let waits = |now_ms: u64| limit.wait(begin + now_ms * 1_000_000).as_millis();
        assert_eq!([waits(0), waits(0), waits(0)], [0, 100, 200]);
        assert_eq!([waits(150), waits(1_000), waits(1_000)], [150, 0, 100]);
        let of_three = RateLimit::per_second(10, 2, 6);
        assert_eq!([of_three.wait(begin), of_three.wait(begin)].map(|wait| wait.as_millis()), [0, 300]);
    }
}
