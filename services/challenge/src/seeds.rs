//! Seeds of random selections.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::user::UserId;

/// Where seeds come from.
#[derive(Debug)]
pub enum Seeds {
    /// No one can predict them.
    Random {
        /// Its keys are random, those of each process others.
        hasher: RandomState,
        /// Seeds given out.
        count: AtomicU64,
    },
    /// The same user and challenge always have the same seed.
    Fixed(u64),
}

impl Seeds {
    /// From a fixed number, for tests that must be repeatable; random without one.
    #[must_use]
    pub fn new(fixed: Option<u64>) -> Self {
        fixed.map_or_else(
            || Self::Random { hasher: RandomState::new(), count: AtomicU64::new(0) },
            Self::Fixed,
        )
    }

    /// The seed of one selection.
    #[must_use]
    pub fn next(&self, user: &UserId, challenge_id: &str) -> u64 {
        match self {
            Self::Random { hasher, count } => hasher.hash_one(count.fetch_add(1, Ordering::Relaxed)),
            Self::Fixed(fixed) => {
                let mut hash = Sha256::new_with_prefix(fixed.to_le_bytes());
                hash.update((user.as_str().len() as u64).to_le_bytes());
                hash.update(user.as_str());
                hash.update(challenge_id);
                let mut seed = [0; 8];
                seed.copy_from_slice(&hash.finalize()[..8]);
                u64::from_le_bytes(seed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_seeds_depend_on_user_and_challenge_and_random_ones_never_repeat() {
        let [ann, bob] = ["ann", "bob"].map(|name| UserId::new(name).unwrap());
        let fixed = Seeds::new(Some(1));
        assert_eq!(fixed.next(&ann, "c"), Seeds::new(Some(1)).next(&ann, "c"));
        for other in [fixed.next(&bob, "c"), fixed.next(&ann, "d"), Seeds::new(Some(2)).next(&ann, "c")] {
            assert_ne!(fixed.next(&ann, "c"), other);
        }
        let random = Seeds::new(None);
        assert_ne!(random.next(&ann, "c"), random.next(&ann, "c"));
        assert_ne!(Seeds::new(None).next(&ann, "c"), Seeds::new(None).next(&ann, "c"));
    }
}
