//! The cache in the process, for a store that this process alone writes.
//!
//! Whoever misses takes the scope's number before asking the store, and may only add the answer while the scope still
//! has that number. A write removes the scopes that it touches after its commit and before it is answered; a scope that
//! is looked at again has a new number. So an answer that was read before a write is never added after it, and no
//! read that begins after a write was answered finds what was there before it.

use super::Value;
use crate::scope::Scope;
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 32;
/// Answers of one scope, for example pages of one storefront.
const MAX_ANSWERS: usize = 64;
/// About what an empty scope takes.
const SCOPE_WEIGHT: usize = 160;

/// A number that a scope has until it is forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number(u64);

#[derive(Debug)]
struct Held {
    number: u64,
    answers: HashMap<Box<str>, Value>,
    weight: usize,
    /// Where the scope stands among its shard's keys.
    place: usize,
}

#[derive(Debug, Default)]
struct Shard {
    scopes: HashMap<Scope, Held>,
    keys: Vec<Scope>,
    weight: usize,
    next_number: u64,
    /// Which is thrown out next when there is no room: any will do, and a walk over all is fair.
    hand: usize,
}

/// Answers by scope and key, up to about so many bytes.
#[derive(Debug)]
pub struct Local {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    max_weight: usize,
}

impl Local {
    /// An empty one for about `max_bytes`.
    #[must_use]
    pub fn new(max_bytes: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { shards, hasher: RandomState::new(), max_weight: max_bytes / SHARDS }
    }

    /// The answer, or the number with which one may be added.
    pub fn look(&self, scope: &Scope, key: &str) -> Result<Value, Number> {
        let mut shard = self.shard(scope);
        if let Some(held) = shard.scopes.get(scope) {
            return held.answers.get(key).cloned().ok_or(Number(held.number));
        }
        shard.next_number += 1;
        let number = shard.next_number;
        shard.begin(scope.clone(), number);
        shard.shrink(self.max_weight);
        Err(Number(number))
    }

    /// Adds an answer that was read after its scope had this number, unless the scope was forgotten since.
    pub fn add(&self, scope: &Scope, (key, number): (&str, Number), value: Value) {
        let mut shard = self.shard(scope);
        let Some(held) = shard.scopes.get_mut(scope).filter(|held| held.number == number.0) else { return };
        if held.answers.len() >= MAX_ANSWERS {
            return;
        }
        let weight = value.weight() + key.len() + 64;
        if held.answers.insert(key.into(), value).is_none() {
            held.weight += weight;
            shard.weight += weight;
        }
        shard.shrink(self.max_weight);
    }

    /// Forgets everything that depends on these.
    pub fn forget(&self, scopes: &BTreeSet<Scope>) {
        for scope in scopes {
            self.shard(scope).remove(scope);
        }
    }

    /// About how many bytes are held.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).weight).sum()
    }

    fn shard(&self, scope: &Scope) -> MutexGuard<'_, Shard> {
        // The remainder is below the number of shards.
        let place = usize::try_from(self.hasher.hash_one(scope) % SHARDS as u64).unwrap_or_default();
        lock(&self.shards[place])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shard {
    fn begin(&mut self, scope: Scope, number: u64) {
        let held = Held { number, answers: HashMap::new(), weight: SCOPE_WEIGHT, place: self.keys.len() };
        self.keys.push(scope.clone());
        self.scopes.insert(scope, held);
        self.weight += SCOPE_WEIGHT;
    }

    fn remove(&mut self, scope: &Scope) {
        let Some(held) = self.scopes.remove(scope) else { return };
        self.weight -= held.weight;
        self.keys.swap_remove(held.place);
        if let Some(moved) = self.keys.get(held.place)
            && let Some(moved) = self.scopes.get_mut(moved)
        {
            moved.place = held.place;
        }
    }

    fn shrink(&mut self, max_weight: usize) {
        while self.weight > max_weight && !self.keys.is_empty() {
            self.hand = (self.hand + 1) % self.keys.len();
            let scope = self.keys[self.hand].clone();
            self.remove(&scope);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Stats;

    const SCOPE: Scope = Scope::Stats(1);

    fn stats(total: i64) -> Value {
        Value::Stats(Stats { total, ..Stats::default() })
    }

    #[test]
    fn what_was_read_before_a_write_is_not_added_after_it() {
        let cache = Local::new(1 << 20);
        let before = cache.look(&SCOPE, "").unwrap_err();
        cache.forget(&BTreeSet::from([SCOPE]));
        cache.add(&SCOPE, ("", before), stats(1));
        let after = cache.look(&SCOPE, "").unwrap_err();
        cache.add(&SCOPE, ("", before), stats(1));
        assert!(cache.look(&SCOPE, "").is_err());
        cache.add(&SCOPE, ("", after), stats(2));
        assert_eq!(cache.look(&SCOPE, ""), Ok(stats(2)));
        cache.forget(&BTreeSet::from([SCOPE]));
        assert!(cache.look(&SCOPE, "").is_err());
    }

    #[test]
    fn memory_is_bounded_and_accounted_for() {
        let cache = Local::new(1 << 20);
        for id in 0..50_000 {
            let number = cache.look(&Scope::Stats(id), "").unwrap_err();
            cache.add(&Scope::Stats(id), ("", number), stats(id));
        }
        assert!(cache.weight() <= 1 << 20);
        cache.forget(&(0..50_000).map(Scope::Stats).collect());
        assert_eq!(cache.weight(), 0);
        let number = cache.look(&SCOPE, "").unwrap_err();
        for key in 0..1_000 {
            cache.add(&SCOPE, (&key.to_string(), number), stats(1));
        }
        assert!(cache.look(&SCOPE, "63").is_ok() && cache.look(&SCOPE, "64").is_err());
    }
}
