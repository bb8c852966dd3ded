//! What scripts say of algorithms: a name, or an object with a name and parameters.

use super::Refusal;
use crate::js::{Thrown, Value};
use crate::web_crypto::{CryptoError, Curve, Hash};

pub(super) const AES: [&str; 4] = ["AES-CBC", "AES-CTR", "AES-GCM", "AES-KW"];
pub(super) const RSA: [&str; 3] = ["RSASSA-PKCS1-v1_5", "RSA-PSS", "RSA-OAEP"];
const ELLIPTIC: [&str; 2] = ["ECDH", "ECDSA"];
const HASHES: [&str; 4] = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"];

/// Which algorithms an operation has.
fn names_of(operation: &str) -> Vec<&'static str> {
    match operation {
        "digest" => HASHES.to_vec(),
        "generateKey" => [&AES[..], &HASHES, &["HMAC"], &ELLIPTIC, &RSA].concat(),
        "importKey" | "exportKey" => [&AES[..], &["HMAC"], &ELLIPTIC, &RSA, &["PBKDF2"]].concat(),
        "encrypt" | "decrypt" => [&AES[..], &["RSA-OAEP"]].concat(),
        "sign" | "verify" => vec!["HMAC", "ECDSA", "RSA-PSS", "RSASSA-PKCS1-v1_5"],
        "deriveBits" => [&HASHES[..], &["PBKDF2", "ECDH"]].concat(),
        "deriveKey" => [&HASHES[..], &["PBKDF2"]].concat(),
        "getKeyLength" => AES.to_vec(),
        _ => Vec::new(),
    }
}

/// The name of an algorithm that this operation has.
pub(super) fn name(algorithm: &Value<'_>, operation: &str) -> Result<&'static str, Refusal> {
    let name = if algorithm.is_string() {
        algorithm.clone()
    } else if algorithm.is_object() {
        algorithm.get("name")?
    } else {
        return Err(CryptoError::syntax("algorithm cannot be interpreted as a string or an object").into());
    };
    let name = if name.is_nullish() { String::new() } else { name.text()?.to_uppercase() };
    let known = names_of(operation).into_iter().find(|known| known.eq_ignore_ascii_case(&name));
    let unknown =
        || format!("algorithm {name:?} doesn't support (in implementation) operation {operation:?}");
    known.ok_or_else(|| CryptoError::not_supported(unknown()).into())
}

/// A parameter; what `missing` says where there is none.
pub(super) fn param<'js>(
    params: &Value<'js>,
    name: &str,
    missing: CryptoError,
) -> Result<Value<'js>, Refusal> {
    let value = if params.is_object() { params.get(name)? } else { params.scope().undefined() };
    if value.is_nullish() { Err(missing.into()) } else { Ok(value) }
}

fn missing(name: &str) -> CryptoError {
    CryptoError::syntax(format!("could not get {name} from algorithm parameter"))
}

/// The digest that the parameters name.
pub(super) fn hash(params: &Value<'_>) -> Result<Hash, Refusal> {
    let hash = param(params, "hash", missing("hash"))?;
    Ok(Hash::named(name(&hash, "generateKey")?)?)
}

pub(super) fn curve(params: &Value<'_>) -> Result<Curve, Refusal> {
    let name = param(params, "namedCurve", missing("namedCurve"))?.text()?.to_string();
    let unknown = || CryptoError::not_supported(format!("elliptic curve {name} is not supported"));
    Curve::from_name(&name).ok_or_else(|| unknown().into())
}

/// A whole number that must be there.
pub(super) fn integer(params: &Value<'_>, name: &str) -> Result<i64, Refusal> {
    Ok(param(params, name, missing(name))?.as_number()? as i64)
}

/// A whole number that may be missing.
pub(super) fn optional_integer(params: &Value<'_>, name: &str) -> Result<Option<i64>, Thrown> {
    if !params.is_object() {
        return Ok(None);
    }
    let value = params.get(name)?;
    if value.is_nullish() { Ok(None) } else { Ok(Some(value.as_number()? as i64)) }
}

/// Bytes that may be missing.
pub(super) fn optional_bytes(params: &Value<'_>, name: &str) -> Result<Vec<u8>, Thrown> {
    if !params.is_object() {
        return Ok(Vec::new());
    }
    Ok(params.get(name)?.bytes().unwrap_or_default())
}

/// The bytes that an operation works on.
pub(super) fn data(value: &Value<'_>) -> Result<Vec<u8>, Refusal> {
    if value.is_nullish() {
        return Err(CryptoError::type_error("data is null or undefined").into());
    }
    let neither = || CryptoError::operation("data is neither an ArrayBuffer, nor a TypedArray nor DataView");
    value.bytes().ok_or_else(|| neither().into())
}
