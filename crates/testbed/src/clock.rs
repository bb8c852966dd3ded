//! The one clock of every target.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the system's monotonic clock.
///
/// `CLOCK_MONOTONIC` counts alike in every process of a machine, so an instant read here can be compared
/// with one that the generator read from the same clock.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}
