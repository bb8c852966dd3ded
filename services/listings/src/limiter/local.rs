//! Counts in this process, for as many callers as there is room for.

use super::window::Window;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const SHARDS: usize = 16;
/// Callers and methods remembered in each: about 100 bytes each.
const MAX_WINDOWS: usize = 20_000;

type Windows = HashMap<(&'static str, Box<str>), Window>;

#[derive(Debug)]
pub(super) struct Local {
    began: Instant,
    hasher: RandomState,
    shards: [Mutex<Windows>; SHARDS],
}

impl Default for Local {
    fn default() -> Self {
        Self { began: Instant::now(), hasher: RandomState::new(), shards: Default::default() }
    }
}

impl Local {
    /// Counts a call; or says after what time another will be counted.
    pub(super) fn take(&self, method: &'static str, (identity, max): (&str, u32)) -> Option<Duration> {
        let now_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        // The remainder is below the number of shards.
        let place = usize::try_from(self.hasher.hash_one(identity) % SHARDS as u64).unwrap_or_default();
        let mut windows = self.shards[place].lock().unwrap_or_else(PoisonError::into_inner);
        let key = (method, Box::from(identity));
        if windows.len() >= MAX_WINDOWS && !windows.contains_key(&key) {
            make_room(&mut windows, now_ms);
        }
        windows.entry(key).or_default().take(now_ms, max).err().map(Duration::from_millis)
    }
}

/// Throws out what is over, and if everybody is calling, somebody.
fn make_room(windows: &mut Windows, now_ms: u64) {
    windows.retain(|_, window| !window.is_over(now_ms));
    if windows.len() >= MAX_WINDOWS
        && let Some(somebody) = windows.keys().next().cloned()
    {
        windows.remove(&somebody);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_and_methods_are_counted_apart_and_memory_is_bounded() {
        let local = Local::default();
        assert!(local.take("a", ("x", 1)).is_none());
        assert!(local.take("a", ("x", 1)).is_some());
        assert!(local.take("a", ("y", 1)).is_none() && local.take("b", ("x", 1)).is_none());
        for caller in 0..MAX_WINDOWS * SHARDS + 5_000 {
            local.take("a", (&caller.to_string(), 1));
        }
        let held: usize = local.shards.iter().map(|shard| shard.lock().unwrap().len()).sum();
        assert!(held <= MAX_WINDOWS * SHARDS);
    }
}
