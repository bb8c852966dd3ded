//! When a server stalls.

use std::time::Duration;

/// The whole server stalls for `length` at the end of every `period`.
///
/// Time counts from the target's first request, so the first freeze begins `period - length` after it.
/// A request that arrives or becomes due while the server stalls continues when it thaws, as it would
/// in a process stopped by a collector or a scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freeze {
    /// From one thaw to the next.
    pub period: Duration,
    /// How long the server stalls in each period; at most `period`.
    pub length: Duration,
}

impl Freeze {
    /// The earliest instant at or after `at_ns` at which the server is not frozen, both counted from the
    /// first request.
    pub fn unfreeze_at_ns(self, at_ns: u64) -> u64 {
        let (period_ns, length_ns) = (nanos(self.period), nanos(self.length));
        if period_ns == 0 {
            return at_ns;
        }
        let into_period_ns = at_ns % period_ns;
        let freezes_at_ns = period_ns.saturating_sub(length_ns);
        if into_period_ns < freezes_at_ns {
            at_ns
        } else {
            (at_ns - into_period_ns).saturating_add(period_ns)
        }
    }
}

pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(at_ms: u64, thaws_at_ms: u64) {
        let freeze = Freeze { period: Duration::from_secs(10), length: Duration::from_secs(1) };
        assert_eq!(freeze.unfreeze_at_ns(at_ms * 1_000_000), thaws_at_ms * 1_000_000, "at {at_ms} ms");
    }

    #[test]
    fn stalls_at_the_end_of_each_period() {
        check(0, 0);
        check(8_999, 8_999);
        check(9_000, 10_000);
        check(9_999, 10_000);
        check(10_000, 10_000);
        check(19_100, 20_000);
    }

    #[test]
    fn a_period_of_zero_never_freezes() {
        let freeze = Freeze { period: Duration::ZERO, length: Duration::from_secs(1) };
        assert_eq!(freeze.unfreeze_at_ns(5), 5);
    }
}
