//! Verified tokens by their digest: verifying a signature costs far more than comparing a digest.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::Claims;

/// Tokens kept at once, about 3 MB; past that the oldest is removed.
const MAX_TOKENS: usize = 10_000;

/// A token's SHA-256.
pub(super) type Digest = [u8; 32];

/// A digest in its fixed size. (SHA-256 has no other size; any other slice maps to a digest that no token has.)
pub(super) fn key(bytes: &[u8]) -> Digest {
    bytes.try_into().unwrap_or_default()
}

/// The claims of verified tokens. It does not check expiry: its caller must.
#[derive(Default)]
pub(super) struct VerifiedTokens {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    claims: HashMap<Digest, Arc<Claims>>,
    oldest_first: VecDeque<Digest>,
}

impl VerifiedTokens {
    pub(super) fn find(&self, token: &Digest) -> Option<Arc<Claims>> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.claims.get(token).cloned()
    }

    pub(super) fn insert(&self, token: Digest, claims: Arc<Claims>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.claims.insert(token, claims).is_some() {
            return;
        }
        inner.oldest_first.push_back(token);
        if inner.oldest_first.len() > MAX_TOKENS {
            let oldest = inner.oldest_first.pop_front();
            oldest.map(|token| inner.claims.remove(&token));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::UtcMs;

    #[test]
    fn forgets_the_oldest_and_stays_bounded() {
        let verified = VerifiedTokens::default();
        let claims = Arc::new(Claims { subject: "ann".to_owned(), expires_at: UtcMs(1) });
        let digest = |number: usize| {
            let mut digest = [0; 32];
            digest[..8].copy_from_slice(&number.to_le_bytes());
            digest
        };
        for number in 0..=MAX_TOKENS {
            verified.insert(digest(number), Arc::clone(&claims));
            verified.insert(digest(number), Arc::clone(&claims));
        }
        assert!(verified.find(&digest(0)).is_none());
        assert!(verified.find(&digest(1)).is_some());
        let inner = verified.inner.lock().unwrap();
        assert_eq!((inner.claims.len(), inner.oldest_first.len()), (MAX_TOKENS, MAX_TOKENS));
    }
}
