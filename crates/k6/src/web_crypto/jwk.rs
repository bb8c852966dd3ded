//! Keys as JSON: RFC 7517, RFC 7518.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{CryptoError, CryptoKey, KeyAlgorithm, KeyData, unsupported_format};

/// A field that is base64url; empty where it is not there.
pub(super) fn bytes_of(jwk: &Value, name: &str) -> Result<Vec<u8>, CryptoError> {
    let text = jwk[name].as_str().unwrap_or_default();
    URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|error| CryptoError::data(format!("failed to decode {name}: {error}")))
}

pub(super) fn shown(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(super) fn require_kind(jwk: &Value, kind: &str, what: &str) -> Result<(), CryptoError> {
    let own = jwk["kty"].as_str().unwrap_or_default();
    if own == kind {
        Ok(())
    } else {
        Err(CryptoError::data(format!("invalid {what} JWK: invalid key type: {own}")))
    }
}

/// The secret of a symmetric key that is imported, as bytes or as JSON.
///
/// # Errors
/// The key is damaged, or its format is not one of a symmetric key.
pub(super) fn imported_secret(data: KeyData) -> Result<Vec<u8>, CryptoError> {
    match data {
        KeyData::Raw(bytes) => Ok(bytes),
        KeyData::Jwk(jwk) => secret_of_jwk(&jwk),
        other => Err(unsupported_format(other.format())),
    }
}

fn secret_of_jwk(jwk: &Value) -> Result<Vec<u8>, CryptoError> {
    require_kind(jwk, "oct", "symmetric")?;
    if jwk["k"].as_str().unwrap_or_default().is_empty() {
        return Err(CryptoError::data("invalid symmetric JWK: key (k) is required"));
    }
    bytes_of(jwk, "k")
}

/// A symmetric key as JSON.
///
/// # Errors
/// The key is not a symmetric one.
pub(crate) fn symmetric_jwk(key: &CryptoKey) -> Result<Value, CryptoError> {
    let secret = key.secret()?;
    let algorithm = match &key.algorithm {
        KeyAlgorithm::Hmac { hash, .. } => format!("HS{}", &hash.name()[4..]),
        algorithm => format!("A{}{}", secret.len() * 8, &algorithm.name()[4..]),
    };
    Ok(json!({
        "k": shown(secret), "kty": "oct", "ext": key.is_extractable, "key_ops": key.usages, "alg": algorithm,
    }))
}
