//! The limits beyond which a number is not one of a run, so that it is named and not counted.

use evidence::Metric;

/// The longest duration of a request, an iteration or a run: 31 days, in nanoseconds.
pub(crate) const MAX_DURATION_NS: u64 = 31 * 86_400 * 1_000_000_000;
/// The same in milliseconds.
pub(crate) const MAX_DURATION_MS: f64 = (MAX_DURATION_NS / 1_000_000) as f64;
/// The longest time that a histogram distinguishes, in nanoseconds: longer ones count as an hour.
pub(crate) const MAX_DISTINCT_NS: u64 = evidence::Histogram::MAX_US * 1_000;
/// The most that one record counts.
pub(crate) const MAX_RECORD_COUNT: u64 = 1_000_000_000;
/// The most bytes that one record counts: 1 TiB.
pub(crate) const MAX_RECORD_BYTES: u64 = 1 << 40;
/// The most requests, iterations or checks of a run: 37,000 per second for 31 days.
pub(crate) const MAX_RUN_COUNT: u64 = 100_000_000_000;
/// The most bytes of a run: 16 PiB, the most that a run file holds of one key.
pub(crate) const MAX_RUN_BYTES: u64 = 1 << 54;
/// The longest that all requests of a run can have spent in a phase, in nanoseconds: 430 at any time for 31 days.
const MAX_RUN_NS: u64 = 1 << 60;

/// The most that the records of a run can add up to.
pub fn run_limit(metric: Metric) -> u64 {
    match metric {
        Metric::BytesIn | Metric::BytesOut => MAX_RUN_BYTES,
        metric if metric.is_in_ns() => MAX_RUN_NS,
        _ => MAX_RUN_COUNT,
    }
}
