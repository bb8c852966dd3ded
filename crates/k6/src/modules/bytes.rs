//! Bytes that scripts give and are given.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE, URL_SAFE_NO_PAD};

use crate::js::{Scope, Thrown, Value};

/// The bytes of a string, an `ArrayBuffer` or a typed array.
///
/// # Errors
/// Throws that it is none of them.
pub(super) fn given(value: &Value<'_>) -> Result<Vec<u8>, Thrown> {
    if value.is_string() {
        return Ok(value.text()?.to_string().into_bytes());
    }
    let invalid = || value.scope().throw("invalid type, expected a string, a typed array or an ArrayBuffer");
    value.bytes().ok_or_else(invalid)
}

/// Bytes in one of the forms that `k6/crypto` names.
///
/// # Errors
/// Throws that there is no form of this name.
pub(super) fn encoded<'js>(scope: Scope<'js>, bytes: &[u8], form: &Value<'_>) -> Result<Value<'js>, Thrown> {
    let form = if form.is_nullish() { String::new() } else { form.text()?.to_string() };
    let text = match form.as_str() {
        "binary" => return Ok(scope.array_buffer(bytes)),
        "hex" => hex::encode(bytes),
        "base64" => STANDARD.encode(bytes),
        "base64url" => URL_SAFE.encode(bytes),
        "base64rawurl" => URL_SAFE_NO_PAD.encode(bytes),
        _ => return Err(scope.throw(&format!("invalid output encoding: {form}"))),
    };
    Ok(scope.string(&text))
}
