//! Waiting for a condition that can only be polled: checked again and again until it holds or time is up.

use std::time::{Duration, Instant};

/// Short beside anything that is waited for, long beside the cost of a check.
const PAUSE: Duration = Duration::from_millis(5);

/// Calls `look` until it finds something, at least once; `None` when `within` has passed.
pub fn find<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if began.elapsed() >= within {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Whether `holds` became true within the time.
pub fn until(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    find(within, || holds().then_some(())).is_some()
}
