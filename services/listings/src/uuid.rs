//! Names for listings that nobody else has given: RFC 9562 version 8, from a digest of what is unique about one.

use kit::clock::UtcMs;
use sha2::{Digest, Sha256};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

/// Differs from process to process, so that two databases whose ids begin alike name nothing alike.
static SALT: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0_u8));

/// The name of a listing of this id, made at this time.
#[must_use]
pub fn uuid_of((id, made_at): (i64, UtcMs)) -> String {
    let mut digest = Sha256::new();
    digest.update(id.to_le_bytes());
    digest.update(made_at.0.to_le_bytes());
    digest.update(SALT.to_le_bytes());
    let digest = digest.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    let (version, variant) = (0x8000_u128 << 64, 0x8000_u128 << 48);
    let number = u128::from_be_bytes(bytes) & !(0xf000_u128 << 64) & !(0xc000_u128 << 48) | version | variant;
    let hex = format!("{number:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_shape_and_differ() {
        let one = uuid_of((1, UtcMs(5)));
        assert_eq!(one.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
        assert_eq!(&one[14..15], "8");
        assert!("89ab".contains(&one[19..20]), "{one}");
        assert_ne!(one, uuid_of((2, UtcMs(5))));
    }
}
