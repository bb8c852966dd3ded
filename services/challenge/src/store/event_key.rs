//! The key by which an event, or a claim, is recognised when it is delivered again.

use sha2::{Digest, Sha256};

use crate::user::UserId;

/// 128 bits of SHA-256, for an event over kind, user and id: of fixed size whatever a publisher sends, and no publisher can make two
/// events collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventKey(pub(super) u128);

impl EventKey {
    /// The key of an event. `kind` separates event types, because each publisher numbers its ids independently.
    #[must_use]
    pub fn new(kind: &str, user: &UserId, id: &str) -> Self {
        Self::from_parts(&[kind, user.as_str(), id])
    }

    /// The key of an event without an id, from numbers that no other such event has.
    #[must_use]
    pub fn unnamed(numbers: [u64; 2]) -> Self {
        Self::from_parts(&["unnamed", &numbers[0].to_string(), &numbers[1].to_string()])
    }

    /// The key of these texts, none of which can take over a part of another.
    pub(super) fn from_parts(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let digest = hash.finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Self(u128::from_le_bytes(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_differ_by_kind_user_and_id() {
        let [ann, bob] = ["ann", "bob"].map(|name| UserId::new(name).unwrap());
        let key = EventKey::new("login", &ann, "1");
        assert_eq!(key, EventKey::new("login", &ann, "1"));
        assert_ne!(key, EventKey::new("statistic", &ann, "1"));
        assert_ne!(key, EventKey::new("login", &bob, "1"));
        assert_ne!(key, EventKey::new("login", &ann, "2"));
    }
}
