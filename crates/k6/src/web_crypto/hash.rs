//! Digests.

use aws_lc_rs::{digest, hmac, pbkdf2};

use super::CryptoError;

/// A digest of Web Crypto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    const NAMED: [(&str, Hash); 4] = [
        ("SHA-1", Hash::Sha1),
        ("SHA-256", Hash::Sha256),
        ("SHA-384", Hash::Sha384),
        ("SHA-512", Hash::Sha512),
    ];

    /// The digest of this name; none where there is no such digest.
    pub(crate) fn from_name(name: &str) -> Option<Hash> {
        Hash::NAMED.iter().find(|(known, _)| *known == name).map(|(_, hash)| *hash)
    }

    /// The same.
    ///
    /// # Errors
    /// That there is no such digest.
    pub(crate) fn named(name: &str) -> Result<Hash, CryptoError> {
        Hash::from_name(name)
            .ok_or_else(|| CryptoError::not_supported(format!("hash algorithm is not supported {name}")))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Hash::Sha1 => "SHA-1",
            Hash::Sha256 => "SHA-256",
            Hash::Sha384 => "SHA-384",
            Hash::Sha512 => "SHA-512",
        }
    }

    /// How many bytes it takes at once.
    pub(super) fn block_bytes(self) -> usize {
        self.algorithm().block_len()
    }

    pub(super) fn output_bytes(self) -> usize {
        self.algorithm().output_len()
    }

    fn algorithm(self) -> &'static digest::Algorithm {
        match self {
            Hash::Sha1 => &digest::SHA1_FOR_LEGACY_USE_ONLY,
            Hash::Sha256 => &digest::SHA256,
            Hash::Sha384 => &digest::SHA384,
            Hash::Sha512 => &digest::SHA512,
        }
    }

    pub(super) fn hmac(self) -> hmac::Algorithm {
        match self {
            Hash::Sha1 => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            Hash::Sha256 => hmac::HMAC_SHA256,
            Hash::Sha384 => hmac::HMAC_SHA384,
            Hash::Sha512 => hmac::HMAC_SHA512,
        }
    }

    pub(super) fn pbkdf2(self) -> pbkdf2::Algorithm {
        match self {
            Hash::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
            Hash::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Hash::Sha384 => pbkdf2::PBKDF2_HMAC_SHA384,
            Hash::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    pub(crate) fn digest(self, data: &[u8]) -> Vec<u8> {
        digest::digest(self.algorithm(), data).as_ref().to_vec()
    }
}
