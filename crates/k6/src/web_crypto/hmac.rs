//! HMAC: keys, and what is signed by them.

use aws_lc_rs::hmac;

use super::jwk::imported_secret;
use super::{CryptoError, CryptoKey, Hash, KeyAlgorithm, KeyData, Material, random_bytes, require_usages};

const USAGES: [&str; 2] = ["sign", "verify"];

/// A new key of so many bits; of a block of the digest where that is not said.
///
/// # Errors
/// The length or a usage is not supported.
pub(crate) fn generate_hmac(
    hash: Hash,
    bits: Option<i64>,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, CryptoError> {
    require_usages(&usages, &USAGES)?;
    let bits = match bits {
        None => hash.block_bytes() * 8,
        Some(bits) => usize::try_from(bits)
            .ok()
            .filter(|bits| (1..=MOST_BITS).contains(bits))
            .ok_or_else(|| CryptoError::operation("algorithm's length cannot be 0"))?,
    };
    let material = Material::Secret(random_bytes(bits / 8)?);
    Ok(CryptoKey { algorithm: KeyAlgorithm::Hmac { hash, bits }, is_extractable, usages, material })
}

/// No key is longer.
const MOST_BITS: usize = 1 << 20;

/// A key from outside.
///
/// # Errors
/// The key cannot be read, has another length, or a usage is not supported.
pub(crate) fn import_hmac(
    data: KeyData,
    hash: Hash,
    bits: Option<i64>,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, CryptoError> {
    require_usages(&usages, &USAGES)?;
    let secret = imported_secret(data)?;
    if secret.is_empty() {
        return Err(CryptoError::data("key length cannot be 0"));
    }
    let own = secret.len() * 8;
    if bits.is_some_and(|bits| bits != own as i64) {
        return Err(CryptoError::data("key length cannot be different from the length of the imported data"));
    }
    let algorithm = KeyAlgorithm::Hmac { hash, bits: own };
    Ok(CryptoKey { algorithm, is_extractable, usages, material: Material::Secret(secret) })
}

fn key_of(key: &CryptoKey) -> Result<hmac::Key, CryptoError> {
    let KeyAlgorithm::Hmac { hash, .. } = key.algorithm else {
        return Err(CryptoError::invalid_access("key algorithm does not describe a HMAC key"));
    };
    Ok(hmac::Key::new(hash.hmac(), key.secret()?))
}

/// # Errors
/// That the key is not one of HMAC.
pub(crate) fn sign_hmac(key: &CryptoKey, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    Ok(hmac::sign(&key_of(key)?, data).as_ref().to_vec())
}

/// # Errors
/// That the key is not one of HMAC.
pub(crate) fn verify_hmac(key: &CryptoKey, signature: &[u8], data: &[u8]) -> Result<bool, CryptoError> {
    Ok(hmac::verify(&key_of(key)?, data, signature).is_ok())
}
