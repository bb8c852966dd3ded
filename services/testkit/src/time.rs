//! Conditions that are waited for, and the time of day of a service under a clock that is set.

use std::time::{Duration, Instant};

use kit::clock::UtcMs;
use tokio::time::MissedTickBehavior;

pub const HOUR_S: i64 = 3_600;
const HOUR_MS: i64 = 1_000 * HOUR_S;

/// Longer than any condition takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Checks a condition repeatedly until it holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    let mut checks = tokio::time::interval(Duration::from_millis(20));
    // After a check that takes longer, the other tasks must be able to run.
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !holds().await {
        assert!(begun.elapsed() < TIMEOUT, "not in time: {what}");
        checks.tick().await;
    }
}

/// How many hours a service's clock was ahead when it wrote a timestamp; a test takes far less than half an hour.
pub fn hours_ahead(timestamp: &str) -> i64 {
    let written = UtcMs::parse(timestamp).unwrap();
    (written.0 - UtcMs::now().0 + HOUR_MS / 2).div_euclid(HOUR_MS)
}
