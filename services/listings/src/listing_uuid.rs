//! UUIDs of listings: RFC 9562 version 8, from a digest of the listing's id, its creation time and a salt.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use kit::clock::UtcMs;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Differs between processes, so that two databases with equal ids have different UUIDs.
static SALT: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u8));

/// The UUID of a listing, as hyphenated text.
#[must_use]
pub fn listing_uuid(id: i64, created_at: UtcMs) -> String {
    let mut digest = Sha256::new();
    digest.update(id.to_le_bytes());
    digest.update(created_at.0.to_le_bytes());
    digest.update(SALT.to_le_bytes());
    let digest = digest.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    Uuid::new_v8(bytes).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_have_version_8_and_differ_between_listings() {
        let one = listing_uuid(1, UtcMs(5));
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "8");
        assert!("89ab".contains(&one[19..20]), "{one}");
        assert_ne!(one, listing_uuid(2, UtcMs(5)));
    }
}
