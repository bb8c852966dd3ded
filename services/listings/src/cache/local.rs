//! The cache in the process, for a store that only this process writes.
//!
//! On a miss a reader gets the scope's version before it queries the store, and may add the answer only while the scope
//! still has that version. A write removes the scopes that it affects after its commit and before it is answered; the
//! next look-up creates the scope with a new version. So an answer that was read before a write is never added after
//! it, and no read that begins after a write was answered finds an older answer.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::CachedValue;
use crate::scope::CacheScope;

const SHARDS: usize = 32;
/// Answers in one scope at most, for example pages of one storefront.
const MAX_ANSWERS: usize = 64;
/// The approximate size of an empty scope in bytes.
const SCOPE_WEIGHT: usize = 160;

/// The version of a scope, until it is invalidated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeVersion(u64);

#[derive(Debug)]
struct ScopeEntry {
    version: u64,
    answers: HashMap<Box<str>, CachedValue>,
    weight: usize,
    /// When its answers have reached their age; only those with counts have one.
    expires: Option<Instant>,
    /// The scope's index in the shard's keys.
    key_index: usize,
}

impl ScopeEntry {
    fn is_expired(&self) -> bool {
        self.expires.is_some_and(|at| Instant::now() >= at)
    }
}

#[derive(Debug, Default)]
struct Shard {
    scopes: HashMap<CacheScope, ScopeEntry>,
    keys: Vec<CacheScope>,
    weight: usize,
    last_version: u64,
    /// The index of the key evicted last; eviction goes round all keys.
    eviction_index: usize,
}

/// Answers by scope and key, with a bound on their approximate size.
#[derive(Debug)]
pub struct LocalCache {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    max_weight: usize,
    counts_for: Duration,
}

impl LocalCache {
    /// An empty cache for about `max_bytes`, whose answers with counts may be used for this long.
    #[must_use]
    pub fn new(max_bytes: usize, counts_for: Duration) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: RandomState::new(), max_weight: max_bytes / SHARDS, counts_for }
    }

    /// The answer, or the version with which one may be added.
    ///
    /// # Errors
    /// The scope's version, when it has no answer under this key.
    pub fn look_up(&self, scope: &CacheScope, key: &str) -> Result<CachedValue, ScopeVersion> {
        let mut shard = self.shard(scope);
        match shard.scopes.get(scope) {
            Some(entry) if entry.is_expired() => shard.remove(scope),
            Some(entry) => return entry.answers.get(key).cloned().ok_or(ScopeVersion(entry.version)),
            None => {}
        }
        shard.last_version += 1;
        let version = shard.last_version;
        let expires = scope.has_counts().then(|| Instant::now() + self.counts_for);
        shard.insert(scope.clone(), version, expires);
        shard.shrink(self.max_weight);
        Err(ScopeVersion(version))
    }

    /// Adds an answer that was read at this version of its scope, unless the scope was invalidated since.
    pub fn add(&self, scope: &CacheScope, key: &str, version: ScopeVersion, value: CachedValue) {
        let mut shard = self.shard(scope);
        let shard = &mut *shard;
        let current = shard.scopes.get_mut(scope).filter(|entry| entry.version == version.0);
        let Some(entry) = current else { return };
        if entry.answers.len() >= MAX_ANSWERS {
            // It begins anew: the first answers need not be those that are asked for most.
            let weight = entry.weight - SCOPE_WEIGHT;
            entry.answers.clear();
            entry.weight -= weight;
            shard.weight -= weight;
        }
        let weight = value.weight() + key.len() + 64;
        if entry.answers.insert(key.into(), value).is_none() {
            entry.weight += weight;
            shard.weight += weight;
        }
        shard.shrink(self.max_weight);
    }

    /// Removes all answers of these scopes.
    pub fn invalidate(&self, scopes: &BTreeSet<CacheScope>) {
        for scope in scopes {
            self.shard(scope).remove(scope);
        }
    }

    /// The approximate size of all answers in bytes.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).weight).sum()
    }

    fn shard(&self, scope: &CacheScope) -> MutexGuard<'_, Shard> {
        // The remainder is below the number of shards.
        let index = usize::try_from(self.hasher.hash_one(scope) % SHARDS as u64).unwrap_or_default();
        lock(&self.shards[index])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    fn insert(&mut self, scope: CacheScope, version: u64, expires: Option<Instant>) {
        let key_index = self.keys.len();
        let entry = ScopeEntry { version, answers: HashMap::new(), weight: SCOPE_WEIGHT, expires, key_index };
        self.keys.push(scope.clone());
        self.scopes.insert(scope, entry);
        self.weight += SCOPE_WEIGHT;
    }

    fn remove(&mut self, scope: &CacheScope) {
        let Some(entry) = self.scopes.remove(scope) else { return };
        self.weight -= entry.weight;
        self.keys.swap_remove(entry.key_index);
        if let Some(moved) = self.keys.get(entry.key_index)
            && let Some(moved) = self.scopes.get_mut(moved)
        {
            moved.key_index = entry.key_index;
        }
    }

    fn shrink(&mut self, max_weight: usize) {
        while self.weight > max_weight && !self.keys.is_empty() {
            self.eviction_index = (self.eviction_index + 1) % self.keys.len();
            let scope = self.keys[self.eviction_index].clone();
            self.remove(&scope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::StorefrontStats;

    const SCOPE: CacheScope = CacheScope::Stats(1);
    const LONG: Duration = Duration::from_secs(3600);

    fn stats(total: i64) -> CachedValue {
        CachedValue::Stats(StorefrontStats { total, ..StorefrontStats::default() })
    }

    #[test]
    fn an_answer_read_before_a_write_is_not_added_after_it() {
        let cache = LocalCache::new(1 << 20, LONG);
        let before = cache.look_up(&SCOPE, "").unwrap_err();
        cache.invalidate(&BTreeSet::from([SCOPE]));
        cache.add(&SCOPE, "", before, stats(1));
        let after = cache.look_up(&SCOPE, "").unwrap_err();
        cache.add(&SCOPE, "", before, stats(1));
        assert!(cache.look_up(&SCOPE, "").is_err());
        cache.add(&SCOPE, "", after, stats(2));
        assert_eq!(cache.look_up(&SCOPE, ""), Ok(stats(2)));
        cache.invalidate(&BTreeSet::from([SCOPE]));
        assert!(cache.look_up(&SCOPE, "").is_err());
    }

    #[test]
    fn memory_is_bounded_and_counted() {
        let cache = LocalCache::new(1 << 20, LONG);
        for id in 0..50_000 {
            let version = cache.look_up(&CacheScope::Stats(id), "").unwrap_err();
            cache.add(&CacheScope::Stats(id), "", version, stats(id));
        }
        assert!(cache.weight() <= 1 << 20);
        cache.invalidate(&(0..50_000).map(CacheScope::Stats).collect());
        assert_eq!(cache.weight(), 0);
        let version = cache.look_up(&SCOPE, "").unwrap_err();
        for key in 0..1_000 {
            cache.add(&SCOPE, &key.to_string(), version, stats(1));
        }
        assert!(cache.look_up(&SCOPE, "0").is_err() && cache.look_up(&SCOPE, "999").is_ok());
    }

    /// Counts do not invalidate answers, so that these must expire.
    #[test]
    fn answers_with_counts_expire() {
        let cache = LocalCache::new(1 << 20, Duration::ZERO);
        for (scope, is_kept) in [(CacheScope::Listing(1), false), (SCOPE, true)] {
            let version = cache.look_up(&scope, "").unwrap_err();
            cache.add(&scope, "", version, stats(1));
            assert_eq!(cache.look_up(&scope, "").is_ok(), is_kept, "{scope}");
        }
    }
}
