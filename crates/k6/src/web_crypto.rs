//! Web Crypto, as far as k6 has it: keys and what is done with them. Without JavaScript; see `modules::web_crypto`.

mod aes;
mod elliptic;
mod hash;
mod hmac;
mod jwk;
mod pbkdf2;
mod rsa;

use std::fmt;

pub(crate) use aes::{AesParams, Direction, Mode};
pub(crate) use elliptic::{Curve, EcPrivate};
pub(crate) use hash::Hash;
pub(crate) use pbkdf2::derived;
pub(crate) use rsa::{RsaPrivate, RsaPublic};
pub(crate) use {aes::*, elliptic::*, hmac::*, jwk::*, rsa::*};

/// Why something cannot be done, as scripts see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {message}")]
pub(crate) struct CryptoError {
    pub(crate) name: &'static str,
    pub(crate) message: String,
}

macro_rules! error_kinds {
    ($($constructor:ident $name:literal),*) => {
        impl CryptoError {
            $(pub(crate) fn $constructor(message: impl Into<String>) -> CryptoError {
                CryptoError { name: $name, message: message.into() }
            })*
        }
    };
}

error_kinds!(
    data "DataError",
    implementation "ImplementationError",
    invalid_access "InvalidAccessError",
    not_supported "NotSupportedError",
    operation "OperationError",
    quota_exceeded "QuotaExceededError",
    syntax "SyntaxError",
    type_error "TypeError",
    type_mismatch "TypeMismatchError"
);

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Secret,
    Private,
    Public,
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyKind::Secret => "secret",
            KeyKind::Private => "private",
            KeyKind::Public => "public",
        })
    }
}

/// What a key is used by, with what belongs to the key itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyAlgorithm {
    Aes { name: &'static str, bits: usize },
    Hmac { hash: Hash, bits: usize },
    Elliptic { name: &'static str, curve: Curve },
    Rsa { name: &'static str, hash: Hash, bits: usize },
    Pbkdf2,
}

impl KeyAlgorithm {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            KeyAlgorithm::Aes { name, .. }
            | KeyAlgorithm::Elliptic { name, .. }
            | KeyAlgorithm::Rsa { name, .. } => name,
            KeyAlgorithm::Hmac { .. } => "HMAC",
            KeyAlgorithm::Pbkdf2 => "PBKDF2",
        }
    }
}

/// What a key is.
#[derive(Debug)]
pub(crate) enum Material {
    Secret(Vec<u8>),
    EcPrivate(EcPrivate),
    /// A point, not compressed.
    EcPublic(Vec<u8>),
    RsaPrivate(RsaPrivate),
    RsaPublic(RsaPublic),
}

impl Material {
    pub(crate) fn kind(&self) -> KeyKind {
        match self {
            Material::Secret(_) => KeyKind::Secret,
            Material::EcPrivate(_) | Material::RsaPrivate(_) => KeyKind::Private,
            Material::EcPublic(_) | Material::RsaPublic(_) => KeyKind::Public,
        }
    }
}

/// A key of a script.
#[derive(Debug)]
pub(crate) struct CryptoKey {
    pub(crate) algorithm: KeyAlgorithm,
    pub(crate) is_extractable: bool,
    pub(crate) usages: Vec<String>,
    pub(crate) material: Material,
}

/// The private and the public one of two keys.
pub(crate) struct KeyPair {
    pub(crate) private: CryptoKey,
    pub(crate) public: CryptoKey,
}

impl CryptoKey {
    pub(crate) fn can(&self, usage: &str) -> bool {
        self.usages.iter().any(|known| known == usage)
    }

    /// The bytes of a secret key.
    ///
    /// # Errors
    /// The key is not a secret one.
    pub(crate) fn secret(&self) -> Result<&[u8], CryptoError> {
        match &self.material {
            Material::Secret(bytes) => Ok(bytes),
            _ => Err(CryptoError::implementation("could not get key handle")),
        }
    }

    /// That it may be used at all, as every secret and private key must.
    ///
    /// # Errors
    /// That it may not.
    pub(crate) fn with_usages(self) -> Result<CryptoKey, CryptoError> {
        if self.material.kind() != KeyKind::Public && self.usages.is_empty() {
            return Err(CryptoError::syntax("usages cannot not be empty for a secret or private CryptoKey"));
        }
        Ok(self)
    }
}

/// How a key is written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum KeyData {
    Raw(Vec<u8>),
    Pkcs8(Vec<u8>),
    Spki(Vec<u8>),
    Jwk(serde_json::Value),
}

impl KeyData {
    pub(crate) fn format(&self) -> &'static str {
        match self {
            KeyData::Raw(_) => "raw",
            KeyData::Pkcs8(_) => "pkcs8",
            KeyData::Spki(_) => "spki",
            KeyData::Jwk(_) => "jwk",
        }
    }
}

/// That a key is not read or written in this format.
fn unsupported_format(format: &str) -> CryptoError {
    CryptoError::not_supported(format!("unsupported key format {format}"))
}

/// That these are all among the usages of a key.
fn require_usages(usages: &[String], allowed: &[&str]) -> Result<(), CryptoError> {
    match usages.iter().find(|usage| !allowed.contains(&usage.as_str())) {
        Some(usage) => Err(CryptoError::syntax(format!("invalid key usage: {usage}"))),
        None => Ok(()),
    }
}

/// Those of the usages that a part of a key pair has.
fn usages_of(usages: &[String], part: &[&str]) -> Vec<String> {
    usages.iter().filter(|usage| part.contains(&usage.as_str())).cloned().collect()
}

/// So many bytes from the system.
///
/// # Errors
/// That it gives none.
pub(crate) fn random_bytes(count: usize) -> Result<Vec<u8>, CryptoError> {
    let mut bytes = vec![0; count];
    aws_lc_rs::rand::fill(&mut bytes)
        .map_err(|_| CryptoError::operation("the system gives no random bytes"))?;
    Ok(bytes)
}
