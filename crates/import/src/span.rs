//! The time that a run covers, and the seconds into which it is divided.

use std::time::Duration;

use evidence::Instant;

const SECOND_NS: u64 = 1_000_000_000;
/// An end that is at most this share of the length past a whole second belongs to that second: intervals of a second
/// are a few milliseconds longer or shorter.
const ROUNDED_SHARE: u64 = 1_000;

/// The time from the start of a run's first request to the end of its last, in nanoseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSpan {
    /// The start, from which the seconds of the run count.
    pub begin: i64,
    /// The end, not before the start.
    pub end: i64,
}

impl RunSpan {
    /// The span of two files of one run.
    pub fn with(self, other: RunSpan) -> RunSpan {
        RunSpan { begin: self.begin.min(other.begin), end: self.end.max(other.end) }
    }

    /// How long the run was: what rates are divided by. A second where all times are the same.
    pub fn length(self) -> Duration {
        let length = self.offset(self.end);
        let rest = length % SECOND_NS;
        Duration::from_nanos(match length {
            0 => SECOND_NS,
            length if length > rest && rest <= length / ROUNDED_SHARE => length - rest,
            length => length,
        })
    }

    /// How many seconds the run has; the last one may be shorter.
    pub fn seconds(self) -> u32 {
        u32::try_from(self.length().as_nanos().div_ceil(u128::from(SECOND_NS))).unwrap_or(u32::MAX)
    }

    /// The instant of the run at this time of day.
    pub(crate) fn instant(self, at: i64) -> Instant {
        Instant::from_nanos(self.offset(at))
    }

    /// The second of the run that contains this time of day. The end belongs to the last second.
    pub(crate) fn second(self, at: i64) -> u32 {
        self.instant(at).second().min(self.seconds() - 1)
    }

    fn offset(self, at: i64) -> u64 {
        u64::try_from(at.saturating_sub(self.begin)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A span that begins at 3.474142 s.
    fn span(length_ns: i64) -> RunSpan {
        RunSpan { begin: 3_474_142_000, end: 3_474_142_000 + length_ns }
    }

    #[test]
    fn seconds_count_from_the_start_and_not_from_a_whole_second_of_the_day() {
        for (length_ns, seconds, counted_ns) in [
            (0, 1, 1_000_000_000),
            (58_740_095, 1, 58_740_095),
            (9_996_000_142, 10, 9_996_000_142),
            (10_000_000_000, 10, 10_000_000_000),
            (10_004_000_142, 10, 10_000_000_000),
            (10_070_000_142, 11, 10_070_000_142),
            (1_001_500_000, 2, 1_001_500_000),
        ] {
            let span = span(length_ns);
            let counted = Duration::from_nanos(counted_ns);
            assert_eq!((span.seconds(), span.length()), (seconds, counted), "{length_ns} ns");
            assert_eq!((span.second(span.begin), span.second(span.end)), (0, seconds - 1), "{length_ns} ns");
        }
        assert_eq!((span(10_000_000_000).second(0), span(10_000_000_000).second(7_500_000_000)), (0, 4));
    }

    #[test]
    fn times_that_are_too_far_apart_do_not_overflow() {
        let span = RunSpan { begin: i64::MIN, end: i64::MAX };
        assert_eq!((span.seconds(), span.second(i64::MAX)), (u32::MAX, u32::MAX - 1));
    }
}
