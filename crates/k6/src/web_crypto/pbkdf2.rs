//! PBKDF2.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2;

use super::{CryptoError, Hash};

/// No more bits are derived at once.
const MOST_BITS: usize = 1 << 20;

/// So many bits from a secret.
///
/// # Errors
/// That so many cannot be derived, or not by so many iterations.
pub(crate) fn derived(
    hash: Hash,
    secret: &[u8],
    salt: &[u8],
    iterations: i64,
    bits: usize,
) -> Result<Vec<u8>, CryptoError> {
    let iterations = u32::try_from(iterations).ok().and_then(NonZeroU32::new);
    let iterations = iterations.ok_or_else(|| CryptoError::operation("number of iterations can't be 0"))?;
    if !bits.is_multiple_of(8) {
        return Err(CryptoError::invalid_access("provided length of key must be a multiple of 8"));
    }
    if bits > MOST_BITS {
        return Err(CryptoError::operation("length is too large"));
    }
    let mut output = vec![0; bits / 8];
    pbkdf2::derive(hash.pbkdf2(), iterations, salt, secret, &mut output);
    Ok(output)
}
