//! The services' wall clock: UTC milliseconds, and their RFC 3339 text.
//!
//! Rules take an instant as an argument; only the outer layers of a service read the clock.

use std::fmt;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use jiff::fmt::temporal::Pieces;
use serde::{Deserialize, Serialize};

/// An instant in UTC, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UtcMs(pub i64);

impl UtcMs {
    /// The present by the system clock. A clock set before 1970 reads as 1970.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one clock of the services")]
    pub fn now() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }

    /// The instant that an RFC 3339 text names, cut to whole milliseconds; `None` for any other text. The last hours of
    /// the year 9999, and those before the first of -9999, are the last and the first instant that can be represented.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let instant = text.parse::<jiff::Timestamp>().ok().or_else(|| outermost(text))?;
        Some(Self(instant.as_millisecond()))
    }
}

/// The instant closest to a text that names one out of range.
fn outermost(text: &str) -> Option<jiff::Timestamp> {
    let pieces = Pieces::parse(text).ok()?;
    pieces.time().zip(pieces.offset())?;
    Some(if pieces.date().year() < 0 { jiff::Timestamp::MIN } else { jiff::Timestamp::MAX })
}

/// A clock that starts at the time of day and then advances evenly: setting the system clock does not change it.
#[derive(Debug, Clone, Copy)]
pub struct SteadyClock {
    from: UtcMs,
    since: Instant,
}

impl SteadyClock {
    /// Starts at the present.
    #[must_use]
    pub fn start() -> Self {
        Self { from: UtcMs::now(), since: Instant::now() }
    }

    /// The current reading.
    #[must_use]
    pub fn now(&self) -> UtcMs {
        let passed_ms = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        UtcMs(self.from.0.saturating_add(passed_ms))
    }
}

/// RFC 3339 with `Z`, for example `2026-01-31T00:00:00.5Z`; an instant past the year 9999 prints as empty.
impl fmt::Display for UtcMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(timestamp) => timestamp.fmt(f),
            Err(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_utc_with_its_zone() {
        assert_eq!(UtcMs(0).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(UtcMs(1_767_225_600_123).to_string(), "2026-01-01T00:00:00.123Z");
        assert_eq!(UtcMs(i64::MAX).to_string(), "");
    }

    #[test]
    fn reads_what_it_prints_and_any_other_zone() {
        for (text, ms) in [
            ("2026-01-01T00:00:00.123Z", 1_767_225_600_123),
            ("2026-01-01T01:00:00.123999+01:00", 1_767_225_600_123),
            ("1969-12-31T23:59:59Z", -1000),
            ("9999-12-31T23:59:59Z", jiff::Timestamp::MAX.as_millisecond()),
            ("-009999-01-01T00:00:00Z", jiff::Timestamp::MIN.as_millisecond()),
        ] {
            assert_eq!(UtcMs::parse(text), Some(UtcMs(ms)), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-13-01T00:00:00Z",
            "9".repeat(10_000).as_str(),
        ] {
            assert_eq!(UtcMs::parse(text), None, "{text}");
        }
    }
}
