//! Keys as JSON: RFC 7517, RFC 7518.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::{CryptoError, CryptoKey, Curve, KeyAlgorithm};

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

/// The secret of a symmetric key.
pub(super) fn secret_of_jwk(jwk: &Value) -> Result<Vec<u8>, CryptoError> {
    require_kind(jwk, "oct", "symmetric")?;
    if jwk["k"].as_str().unwrap_or_default().is_empty() {
        return Err(CryptoError::data("invalid symmetric JWK: key (k) is required"));
    }
    bytes_of(jwk, "k")
}

/// A symmetric key as JSON.
///
/// # Errors
/// That it is none.
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

/// What the JSON of a key of an elliptic curve says.
pub(super) struct EcJwk {
    pub(super) curve: Curve,
    pub(super) x: Vec<u8>,
    pub(super) y: Vec<u8>,
    /// Of a private key.
    pub(super) number: Option<Vec<u8>>,
}

pub(super) fn ec_of_jwk(jwk: &Value) -> Result<EcJwk, CryptoError> {
    require_kind(jwk, "EC", "EC")?;
    let name = jwk["crv"].as_str().unwrap_or_default();
    let curve = Curve::from_name(name).ok_or_else(|| {
        CryptoError::data(format!("failed to parse elliptic curve: invalid elliptic curve {name}"))
    })?;
    let coordinate = |name: &str| match bytes_of(jwk, name) {
        Ok(bytes) if bytes.is_empty() => {
            let name = name.to_uppercase();
            Err(CryptoError::data(format!("invalid EC JWK key: coordinate {name} is required")))
        }
        bytes => bytes,
    };
    let number = bytes_of(jwk, "d")?;
    let number = (!number.is_empty()).then_some(number);
    Ok(EcJwk { curve, x: coordinate("x")?, y: coordinate("y")?, number })
}

impl EcJwk {
    /// The JSON of a key with these coordinates, one after the other.
    pub(super) fn shown(curve: Curve, coordinates: &[u8], number: Option<&Vec<u8>>) -> Value {
        let (x, y) = coordinates.split_at(curve.number_bytes());
        let mut jwk = json!({ "kty": "EC", "crv": curve.name(), "x": shown(x), "y": shown(y) });
        if let Some(number) = number {
            jwk["d"] = json!(shown(number));
        }
        jwk
    }
}
