//! The global `crypto`: Web Crypto, made when a script reads it first.

mod algorithm;
mod key;
mod operations;

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::web_crypto::{CryptoError, random_bytes};

/// The most elements that `getRandomValues` fills.
const MOST_RANDOM_VALUES: u32 = 65_536;

/// Makes `crypto` of the operations, which become asynchronous, and of the functions that are not.
const MAKE: &str = "(operations, functions) => {
    const readOnly = (from, wrapped) => Object.defineProperties({}, Object.fromEntries(
        Object.keys(from).map((name) => [name, { value: wrapped(from[name]), enumerable: true }])));
    const subtle = readOnly(operations, (operation) => async (...given) => operation(...given));
    const value = readOnly({ ...functions, subtle, CryptoKey: {} }, (one) => one);
    Object.defineProperty(globalThis, 'crypto', { value, writable: true, enumerable: true, configurable: true });
    return value; }";

/// Why an operation is not carried out.
enum Refusal {
    /// Reading its parameters has thrown.
    Thrown,
    Crypto(CryptoError),
}

impl From<Thrown> for Refusal {
    fn from(_: Thrown) -> Refusal {
        Refusal::Thrown
    }
}

impl From<CryptoError> for Refusal {
    fn from(error: CryptoError) -> Refusal {
        Refusal::Crypto(error)
    }
}

impl Refusal {
    /// Throw it: an error with its name.
    fn thrown(self, scope: Scope<'_>) -> Thrown {
        let Refusal::Crypto(CryptoError { name, message }) = self else { return Thrown };
        scope.throw(&message);
        let error = scope.take_thrown();
        match error.set("name", &scope.string(name)) {
            Ok(()) => scope.throw_value(error),
            Err(Thrown) => Thrown,
        }
    }
}

pub(super) fn set(scope: Scope<'_>) -> Result<(), Thrown> {
    let getter = scope.function("crypto", 0, |call| make(call.scope()));
    scope.globals().set_accessors("crypto", getter, scope.undefined())
}

fn make(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    key::set_prototype(scope)?;
    let operations = scope.object();
    operations::add_to(&operations)?;
    let functions = scope.object();
    add(&functions, "getRandomValues", 1, random_values)?;
    add(&functions, "randomUUID", 0, random_uuid)?;
    scope.run(MAKE, "k6")?.call(&scope.undefined(), &[operations, functions])
}

fn random_values<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let array = call.argument(0);
    let throw = |error: CryptoError| Refusal::from(error).thrown(scope);
    let no_array = || throw(CryptoError::type_mismatch("typedArray parameter isn't a TypedArray instance"));
    if !array.is_object() {
        return Err(no_array());
    }
    if array.length()? > MOST_RANDOM_VALUES {
        let why = format!("typedArray parameter is too big; maximum length is {MOST_RANDOM_VALUES}");
        return Err(throw(CryptoError::quota_exceeded(why)));
    }
    let filled =
        array.fill_integers(|bytes| random_bytes(bytes.len()).map(|random| bytes.copy_from_slice(&random)));
    filled.ok_or_else(no_array)?.map_err(throw)?;
    Ok(array)
}

/// Version 4 of RFC 9562: all but six bits are random.
fn random_uuid<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let mut bytes = random_bytes(16).map_err(|error| Refusal::from(error).thrown(scope))?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = hex::encode(bytes);
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(scope.string(&parts.join("-")))
}
