//! `k6/encoding`: base64.

use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::bytes;
use crate::modules::defining::add;

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let exports = scope.object();
    add(&exports, "b64encode", 2, b64encode)?;
    add(&exports, "b64decode", 3, b64decode)?;
    Ok(exports)
}

/// The encoding of this name; the standard one where there is none.
fn engine(name: &Value<'_>) -> Result<GeneralPurpose, Thrown> {
    let name = name.text()?.to_string();
    let (alphabet, padding): (&Alphabet, _) = match name.as_str() {
        "rawstd" => (&STANDARD, DecodePaddingMode::RequireNone),
        "url" => (&URL_SAFE, DecodePaddingMode::RequireCanonical),
        "rawurl" => (&URL_SAFE, DecodePaddingMode::RequireNone),
        _ => (&STANDARD, DecodePaddingMode::RequireCanonical),
    };
    let config = GeneralPurposeConfig::new()
        .with_encode_padding(padding == DecodePaddingMode::RequireCanonical)
        .with_decode_padding_mode(padding)
        .with_decode_allow_trailing_bits(true);
    Ok(GeneralPurpose::new(alphabet, config))
}

fn b64encode<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let data = bytes::given(&call.argument(0))?;
    Ok(call.scope().string(&engine(&call.argument(1))?.encode(data)))
}

/// `b64decode(text, encoding, format)`: an `ArrayBuffer`, or a string where the format is `s`.
fn b64decode<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let text = call.argument(0);
    let text = if text.is_nullish() { String::new() } else { text.text()?.to_string() };
    let decoded = engine(&call.argument(1))?.decode(text.replace(['\r', '\n'], ""));
    let decoded = decoded.map_err(|error| scope.throw(&format!("illegal base64 data: {error}")))?;
    match &*call.argument(2).text()? {
        "s" => Ok(scope.string_of(&decoded)),
        _ => Ok(scope.array_buffer(&decoded)),
    }
}
