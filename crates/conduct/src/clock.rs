//! Wall-clock time, for naming and dating runs. Nothing is ever measured with it.

use jiff::Timestamp;

/// The present time.
#[expect(clippy::disallowed_methods, reason = "the one wall clock of the command")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// RFC 3339 in UTC, to the millisecond.
pub fn rfc3339(at: Timestamp) -> String {
    format!("{at:.3}")
}
