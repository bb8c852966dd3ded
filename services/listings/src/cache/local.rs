//! The cache in the process, for a store that only this process writes.
//!
//! On a miss a reader gets the scope's entry before it queries the store, and adds the answer to that entry. A write
//! removes the entries of the scopes that it affects after its commit and before it is answered; the next look-up makes
//! new ones. So an answer that was read before a write is added to an entry that no read finds any more, and no read that
//! begins after a write was answered finds an older answer.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::ops::compute::Op;
use moka::sync::Cache;

use super::CachedValue;
use crate::scope::CacheScope;

/// Answers in one scope at most, for example pages of one storefront; with more, it begins anew.
const MAX_ANSWERS: usize = 64;
/// The approximate size of an empty scope in bytes.
const SCOPE_WEIGHT: usize = 160;

#[derive(Debug, Default)]
struct Answers {
    by_key: HashMap<Box<str>, CachedValue>,
    weight: usize,
}

/// The answers of a scope, until it is invalidated.
#[derive(Debug, Clone, Default)]
pub struct ScopeEntry(Arc<Mutex<Answers>>);

impl ScopeEntry {
    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers with counts have an age at most.
#[derive(Debug)]
struct CountsFor(Duration);

impl Expiry<CacheScope, ScopeEntry> for CountsFor {
    fn expire_after_create(&self, scope: &CacheScope, _: &ScopeEntry, _: Instant) -> Option<Duration> {
        scope.has_counts().then_some(self.0)
    }
}

/// Answers by scope and key, with a bound on their approximate size.
#[derive(Debug)]
pub struct LocalCache {
    scopes: Cache<CacheScope, ScopeEntry>,
}

impl LocalCache {
    /// An empty cache for about `max_bytes`, whose answers with counts may be used for this long.
    #[must_use]
    pub fn new(max_bytes: usize, counts_for: Duration) -> Self {
        let weight = |_: &CacheScope, entry: &ScopeEntry| {
            u32::try_from(SCOPE_WEIGHT + entry.lock().weight).unwrap_or(u32::MAX)
        };
        let scopes = Cache::builder().max_capacity(max_bytes as u64).weigher(weight);
        Self { scopes: scopes.expire_after(CountsFor(counts_for)).build() }
    }

    /// The answer, or the entry to which one may be added.
    ///
    /// # Errors
    /// The scope's entry, when it has no answer under this key.
    pub fn look_up(&self, scope: &CacheScope, key: &str) -> Result<CachedValue, ScopeEntry> {
        let entry = self.scopes.get_with_by_ref(scope, ScopeEntry::default);
        let found = entry.lock().by_key.get(key).cloned();
        found.ok_or(entry)
    }

    /// Adds an answer to the entry that its reader found.
    pub fn add(&self, scope: &CacheScope, key: &str, entry: ScopeEntry, value: CachedValue) {
        {
            let mut answers = entry.lock();
            if answers.by_key.len() >= MAX_ANSWERS {
                *answers = Answers::default();
            }
            let weight = value.weight() + key.len() + 64;
            if answers.by_key.insert(key.into(), value).is_none() {
                answers.weight += weight;
            }
        }
        // It is weighed again, unless it was invalidated.
        self.scopes.entry_by_ref(scope).and_compute_with(|current| match current {
            Some(current) if Arc::ptr_eq(&current.value().0, &entry.0) => Op::Put(entry),
            _ => Op::Nop,
        });
    }

    /// Removes all answers of these scopes, one after another with what adds to them.
    pub fn invalidate(&self, scopes: &BTreeSet<CacheScope>) {
        for scope in scopes {
            self.scopes.entry_by_ref(scope).and_compute_with(|_current| Op::Remove);
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
        cache.add(&SCOPE, "", before.clone(), stats(1));
        let after = cache.look_up(&SCOPE, "").unwrap_err();
        cache.add(&SCOPE, "", before, stats(1));
        assert!(cache.look_up(&SCOPE, "").is_err());
        cache.add(&SCOPE, "", after, stats(2));
        assert_eq!(cache.look_up(&SCOPE, "").unwrap(), stats(2));
        cache.invalidate(&BTreeSet::from([SCOPE]));
        assert!(cache.look_up(&SCOPE, "").is_err());
    }

    #[test]
    fn memory_is_bounded_and_counted() {
        let cache = LocalCache::new(1 << 20, LONG);
        let size = || {
            cache.scopes.run_pending_tasks();
            cache.scopes.weighted_size()
        };
        for id in 0..50_000 {
            let entry = cache.look_up(&CacheScope::Stats(id), "").unwrap_err();
            cache.add(&CacheScope::Stats(id), "", entry, stats(id));
        }
        assert!((1 << 19..=1 << 20).contains(&size()), "{}", size());
        cache.invalidate(&(0..50_000).map(CacheScope::Stats).collect());
        assert_eq!(size(), 0);
        for key in 0..MAX_ANSWERS + 1 {
            let entry = cache.look_up(&SCOPE, &key.to_string()).unwrap_err();
            cache.add(&SCOPE, &key.to_string(), entry, stats(1));
        }
        assert!(cache.look_up(&SCOPE, "0").is_err() && cache.look_up(&SCOPE, "64").is_ok());
        assert!(size() < 1_000, "{}", size());
    }

    /// Counts do not invalidate answers, so that these must expire.
    #[test]
    fn answers_with_counts_expire() {
        let cache = LocalCache::new(1 << 20, Duration::ZERO);
        for (scope, is_kept) in [(CacheScope::Listing(1), false), (SCOPE, true)] {
            let entry = cache.look_up(&scope, "").unwrap_err();
            cache.add(&scope, "", entry, stats(1));
            assert_eq!(cache.look_up(&scope, "").is_ok(), is_kept, "{scope}");
        }
    }
}
