//! Counts in this process, for a bounded number of callers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::window::SlidingWindow;

const SHARDS: usize = 16;
/// Windows (one per method and caller) in each shard; about 100 bytes each.
const MAX_WINDOWS: usize = 20_000;

type Windows = HashMap<(&'static str, Box<str>), SlidingWindow>;

#[derive(Debug)]
pub(super) struct LocalCounts {
    began: Instant,
    hasher: RandomState,
    shards: [Mutex<Windows>; SHARDS],
}

impl Default for LocalCounts {
    fn default() -> Self {
        Self { began: Instant::now(), hasher: RandomState::new(), shards: Default::default() }
    }
}

impl LocalCounts {
    /// Counts a call, or returns after what time another call will be admitted.
    pub(super) fn try_count(&self, method: &'static str, caller: &str, max: u32) -> Result<(), Duration> {
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        // The remainder is below the number of shards.
        let shard = usize::try_from(self.hasher.hash_one(caller) % SHARDS as u64).unwrap_or_default();
        let mut windows = self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner);
        let key = (method, Box::from(caller));
        if windows.len() >= MAX_WINDOWS && !windows.contains_key(&key) {
            evict(&mut windows, now_ms);
        }
        windows.entry(key).or_default().try_count(now_ms, max).map_err(Duration::from_millis)
    }
}

/// Removes expired windows, and when there are none, an arbitrary one.
fn evict(windows: &mut Windows, now_ms: u64) {
    windows.retain(|_, window| !window.is_expired(now_ms));
    if windows.len() >= MAX_WINDOWS
        && let Some(victim) = windows.keys().next().cloned()
    {
        windows.remove(&victim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_and_methods_are_counted_separately_and_memory_is_bounded() {
        let local = LocalCounts::default();
        assert!(local.try_count("a", "x", 1).is_ok());
        assert!(local.try_count("a", "x", 1).is_err());
        assert!(local.try_count("a", "y", 1).is_ok() && local.try_count("b", "x", 1).is_ok());
        for caller in 0..MAX_WINDOWS * SHARDS + 5_000 {
            let _counted = local.try_count("a", &caller.to_string(), 1);
        }
        let windows: usize = local.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(windows <= MAX_WINDOWS * SHARDS);
    }
}
