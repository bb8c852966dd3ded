//! When goals begin again: calendar periods in UTC.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use kit::clock::UtcMs;

const DAY_MS: i64 = 86_400_000;
const WEEK_MS: i64 = 7 * DAY_MS;
/// 1970-01-05 was a Monday.
const FIRST_MONDAY_MS: i64 = 4 * DAY_MS;
/// Months are computed from the year 1 to the end of 9998, where every boundary can be represented.
const MONTHS: std::ops::RangeInclusive<i64> = -62_135_596_800_000..=253_370_764_799_999;

/// The length of a rotation's periods; the shortest is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Schedule {
    /// From 00:00 to 00:00.
    Daily,
    /// From Monday 00:00.
    Weekly,
    /// From 00:00 on the first day of a month.
    Monthly,
}

/// A period: its start belongs to it, its end does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its first millisecond.
    pub start: UtcMs,
    /// The first millisecond of the next period.
    pub end: UtcMs,
}

impl Schedule {
    /// Its name in challenge files and responses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
        }
    }

    /// The period that contains an instant.
    #[must_use]
    pub fn period(self, at: UtcMs) -> Period {
        match self {
            Self::Daily => fixed(at, 0, DAY_MS),
            Self::Weekly => fixed(at, FIRST_MONDAY_MS, WEEK_MS),
            Self::Monthly => month(at),
        }
    }
}

/// The day in UTC that contains an instant, counted from 1970-01-01.
#[must_use]
pub fn day(at: UtcMs) -> i64 {
    at.0.div_euclid(DAY_MS)
}

fn fixed(at: UtcMs, origin_ms: i64, length_ms: i64) -> Period {
    let start = at.0.saturating_sub(at.0.saturating_sub(origin_ms).rem_euclid(length_ms));
    Period { start: UtcMs(start), end: UtcMs(start.saturating_add(length_ms)) }
}

fn month(at: UtcMs) -> Period {
    let within = at.0.clamp(*MONTHS.start(), *MONTHS.end());
    let date = Timestamp::from_millisecond(within).map(|instant| instant.to_zoned(TimeZone::UTC).date());
    let first = date.unwrap_or_default().first_of_month();
    // The year after 9998 can be represented, so there is always a next month.
    let next = first.checked_add(1.month()).unwrap_or(first);
    Period { start: midnight(first), end: midnight(next) }
}

fn midnight(date: Date) -> UtcMs {
    let start = date.to_zoned(TimeZone::UTC).map(|zoned| zoned.timestamp().as_millisecond());
    UtcMs(start.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn at(text: &str) -> UtcMs {
        UtcMs::parse(text).unwrap()
    }

    #[test]
    fn periods_begin_at_midnight_on_mondays_and_on_the_first_of_a_month() {
        for (schedule, instant, start, end) in [
            (Schedule::Daily, "2026-11-23T18:30:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"),
            (Schedule::Daily, "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z"),
            (Schedule::Daily, "2026-11-22T23:59:59.999Z", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z"),
            (Schedule::Weekly, "2026-11-23T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"),
            (Schedule::Weekly, "2026-11-22T23:59:59.999Z", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"),
            (Schedule::Weekly, "2027-01-01T12:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"),
            (Schedule::Monthly, "2028-02-29T23:59:59.999Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
            (Schedule::Monthly, "2027-02-28T23:59:59.999Z", "2027-02-01T00:00:00Z", "2027-03-01T00:00:00Z"),
            (Schedule::Monthly, "2026-12-31T00:00:00Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            (Schedule::Monthly, "1969-12-31T23:59:59.999Z", "1969-12-01T00:00:00Z", "1970-01-01T00:00:00Z"),
        ] {
            let expected = Period { start: at(start), end: at(end) };
            assert_eq!(schedule.period(at(instant)), expected, "{schedule:?} {instant}");
        }
    }

    fn schedule() -> impl Strategy<Value = Schedule> {
        prop_oneof![Just(Schedule::Daily), Just(Schedule::Weekly), Just(Schedule::Monthly)]
    }

    proptest! {
        /// Periods contain their instants, have no gap and do not overlap.
        #[test]
        fn every_instant_is_in_exactly_one_period(
            schedule in schedule(), ms in 0..4_102_444_800_000i64,
        ) {
            let period = schedule.period(UtcMs(ms));
            prop_assert!(period.start.0 <= ms && ms < period.end.0);
            prop_assert_eq!(schedule.period(period.start), period);
            prop_assert_eq!(schedule.period(UtcMs(period.end.0 - 1)), period);
            prop_assert_eq!(schedule.period(period.end).start, period.end);
            prop_assert_eq!(schedule.period(UtcMs(period.start.0 - 1)).end, period.start);
            prop_assert_eq!((period.start.0 % DAY_MS, period.end.0 % DAY_MS), (0, 0));
        }

        #[test]
        fn no_instant_panics(schedule in schedule(), ms in any::<i64>()) {
            let period = schedule.period(UtcMs(ms));
            let is_outermost = !(i64::MIN + 2 * WEEK_MS..=i64::MAX - WEEK_MS).contains(&ms);
            prop_assert!(period.start < period.end || is_outermost);
        }
    }
}
