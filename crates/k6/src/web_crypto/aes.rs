//! AES: keys, and what is encrypted by them.

use aws_lc_rs::aead;
use aws_lc_rs::cipher::{
    self, DecryptionContext, EncryptingKey, EncryptionContext, PaddedBlockDecryptingKey,
    PaddedBlockEncryptingKey, UnboundCipherKey,
};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::iv::FixedLength;

use super::jwk::imported_secret;
use super::{CryptoError, CryptoKey, KeyAlgorithm, KeyData, Material, random_bytes, require_usages};

const BLOCK_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
/// Bytes of a tag that is not cut.
const TAG_BYTES: usize = 16;
const USAGES: [&str; 4] = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];
const WRAPPING: [&str; 2] = ["wrapKey", "unwrapKey"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Encrypt,
    Decrypt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Cbc,
    Ctr,
    Gcm,
}

/// What a script says of an encryption.
#[derive(Debug, Default)]
pub(crate) struct AesParams {
    /// Also the counter of CTR.
    pub(crate) iv: Vec<u8>,
    /// How many bits of the counter count.
    pub(crate) counter_bits: i64,
    pub(crate) additional: Vec<u8>,
    pub(crate) tag_bits: i64,
}

/// A new key of so many bits.
///
/// # Errors
/// The length or a usage is not supported.
pub(crate) fn generate_aes(
    name: &'static str,
    bits: i64,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, CryptoError> {
    let allowed: &[&str] = if name == "AES-KW" { &WRAPPING } else { &USAGES };
    require_usages(&usages, allowed).map_err(|_| CryptoError::syntax("invalid key usage"))?;
    if ![128, 192, 256].contains(&bits) {
        return Err(CryptoError::operation("invalid key length"));
    }
    let bits = bits as usize;
    let material = Material::Secret(random_bytes(bits / 8)?);
    Ok(CryptoKey { algorithm: KeyAlgorithm::Aes { name, bits }, is_extractable, usages, material })
}

/// A key from outside.
///
/// # Errors
/// The key cannot be read, its length is not one of AES, or a usage is not supported.
pub(crate) fn import_aes(
    data: KeyData,
    name: &'static str,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, CryptoError> {
    require_usages(&usages, &USAGES)?;
    let secret = imported_secret(data)?;
    if ![16, 24, 32].contains(&secret.len()) {
        return Err(CryptoError::data(format!("invalid key length {} bytes", secret.len())));
    }
    let algorithm = KeyAlgorithm::Aes { name, bits: secret.len() * 8 };
    Ok(CryptoKey { algorithm, is_extractable, usages, material: Material::Secret(secret) })
}

/// Encrypt or decrypt data.
///
/// # Errors
/// What is wrong with the key, the parameters or the data.
pub(crate) fn crypt_aes(
    (mode, direction): (Mode, Direction),
    key: &CryptoKey,
    params: &AesParams,
    data: Vec<u8>,
) -> Result<Vec<u8>, CryptoError> {
    let secret = key.secret()?;
    match (mode, direction) {
        (Mode::Cbc, Direction::Encrypt) => encrypt_cbc(secret, params, data),
        (Mode::Cbc, Direction::Decrypt) => decrypt_cbc(secret, params, data),
        (Mode::Ctr, _) => crypt_ctr(secret, params, data),
        (Mode::Gcm, Direction::Encrypt) => encrypt_gcm(secret, params, data),
        (Mode::Gcm, Direction::Decrypt) => decrypt_gcm(secret, params, data),
    }
}

fn cipher_key(secret: &[u8]) -> Result<UnboundCipherKey, CryptoError> {
    let algorithm = match secret.len() {
        16 => &cipher::AES_128,
        24 => &cipher::AES_192,
        _ => &cipher::AES_256,
    };
    UnboundCipherKey::new(algorithm, secret).map_err(|_| no_cipher())
}

fn no_cipher() -> CryptoError {
    CryptoError::operation("could not create cipher")
}

fn block(bytes: &[u8], what: &str) -> Result<FixedLength<BLOCK_BYTES>, CryptoError> {
    let block: Result<[u8; BLOCK_BYTES], _> = bytes.try_into();
    let block = block.map_err(|_| CryptoError::operation(format!("{what} length is not 16 bytes")))?;
    Ok(FixedLength::from(block))
}

fn encrypt_cbc(secret: &[u8], params: &AesParams, mut data: Vec<u8>) -> Result<Vec<u8>, CryptoError> {
    let iv = block(&params.iv, "iv")?;
    if data.is_empty() {
        return Err(CryptoError::operation("could not pad plaintext"));
    }
    let key = PaddedBlockEncryptingKey::cbc_pkcs7(cipher_key(secret)?).map_err(|_| no_cipher())?;
    key.less_safe_encrypt(&mut data, EncryptionContext::Iv128(iv)).map_err(|_| no_cipher())?;
    Ok(data)
}

fn decrypt_cbc(secret: &[u8], params: &AesParams, mut data: Vec<u8>) -> Result<Vec<u8>, CryptoError> {
    let iv = block(&params.iv, "iv")?;
    let key = PaddedBlockDecryptingKey::cbc_pkcs7(cipher_key(secret)?).map_err(|_| no_cipher())?;
    let wrong = |_| CryptoError::operation("invalid padding");
    Ok(key.decrypt(&mut data, DecryptionContext::Iv128(iv)).map_err(wrong)?.to_vec())
}

/// Both directions are the same.
fn crypt_ctr(secret: &[u8], params: &AesParams, mut data: Vec<u8>) -> Result<Vec<u8>, CryptoError> {
    let counter = block(&params.iv, "counter")?;
    if !(1..=128).contains(&params.counter_bits) {
        return Err(CryptoError::operation("invalid counter length, out of the 0 < x < 128 bounds"));
    }
    xor_with_stream(secret, counter, &mut data)?;
    Ok(data)
}

fn xor_with_stream(
    secret: &[u8],
    counter: FixedLength<BLOCK_BYTES>,
    data: &mut [u8],
) -> Result<(), CryptoError> {
    let key = EncryptingKey::ctr(cipher_key(secret)?).map_err(|_| no_cipher())?;
    key.less_safe_encrypt(data, EncryptionContext::Iv128(counter)).map(drop).map_err(|_| no_cipher())
}

/// How many bytes of the tag there are.
fn tag_bytes(params: &AesParams) -> Result<usize, CryptoError> {
    match params.tag_bits {
        0 => Ok(TAG_BYTES),
        96 | 104 | 112 | 120 | 128 => Ok(params.tag_bits as usize / 8),
        32 | 64 => Err(CryptoError::not_supported("tag length 32 and 64 are not supported")),
        _ => Err(CryptoError::operation("invalid tag length, should be one of 96, 104, 112, 120, 128")),
    }
}

fn nonce(params: &AesParams) -> Result<[u8; NONCE_BYTES], CryptoError> {
    let nonce = params.iv.as_slice().try_into();
    nonce.map_err(|_| CryptoError::not_supported("only 12 bytes long iv are supported"))
}

/// Encrypt data in their place; the tag, not cut.
fn sealed(secret: &[u8], params: &AesParams, data: &mut [u8]) -> Result<Vec<u8>, CryptoError> {
    let algorithm = match secret.len() {
        16 => &aead::AES_128_GCM,
        24 => &aead::AES_192_GCM,
        _ => &aead::AES_256_GCM,
    };
    let key = aead::UnboundKey::new(algorithm, secret).map_err(|_| no_cipher())?;
    let nonce = aead::Nonce::assume_unique_for_key(nonce(params)?);
    let additional = aead::Aad::from(params.additional.as_slice());
    let tag = aead::LessSafeKey::new(key).seal_in_place_separate_tag(nonce, additional, data);
    Ok(tag.map_err(|_| no_cipher())?.as_ref().to_vec())
}

fn encrypt_gcm(secret: &[u8], params: &AesParams, mut data: Vec<u8>) -> Result<Vec<u8>, CryptoError> {
    nonce(params)?;
    let count = tag_bytes(params)?;
    let tag = sealed(secret, params, &mut data)?;
    data.extend_from_slice(&tag[..count]);
    Ok(data)
}

/// The library opens what has a whole tag only: data are decrypted by the stream that GCM encrypts with (NIST SP 800-38D, 7.1), and
/// the tag that they have is compared as far as it is there.
fn decrypt_gcm(secret: &[u8], params: &AesParams, mut data: Vec<u8>) -> Result<Vec<u8>, CryptoError> {
    let count = tag_bytes(params)?;
    let length = data.len().checked_sub(count);
    let length = length.ok_or_else(|| CryptoError::operation("ciphertext is too short"))?;
    let given = data.split_off(length);
    let mut counter = [0; BLOCK_BYTES];
    counter[..NONCE_BYTES].copy_from_slice(&nonce(params)?);
    counter[BLOCK_BYTES - 1] = 2;
    xor_with_stream(secret, FixedLength::from(counter), &mut data)?;
    let tag = sealed(secret, params, &mut data.clone())?;
    let wrong = |_| CryptoError::operation("could not decrypt ciphertext");
    verify_slices_are_equal(&tag[..count], &given).map_err(wrong)?;
    Ok(data)
}
