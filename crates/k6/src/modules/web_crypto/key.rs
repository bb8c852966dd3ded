//! Keys, as scripts have them.

use std::ffi::CStr;
use std::rc::Rc;

use super::Refusal;
use crate::js::{Scope, Shared, Thrown, Value};
use crate::web_crypto::{CryptoError, CryptoKey, KeyAlgorithm, KeyPair};

impl Shared for CryptoKey {
    const CLASS: &'static CStr = c"CryptoKey";
    const PROPERTIES: &'static [&'static str] = &["type", "extractable", "algorithm", "usages"];

    fn property<'js>(scope: Scope<'js>, of: &Rc<Self>, place: usize) -> Result<Value<'js>, Thrown> {
        match place {
            0 => Ok(scope.string(&of.material.kind().to_string())),
            1 => Ok(scope.boolean(of.is_extractable)),
            2 => algorithm(scope, &of.algorithm),
            _ => {
                let usages = scope.array();
                for (at, usage) in (0..).zip(&of.usages) {
                    usages.put(at, scope.string(usage))?;
                }
                Ok(usages)
            }
        }
    }
}

fn algorithm<'js>(scope: Scope<'js>, algorithm: &KeyAlgorithm) -> Result<Value<'js>, Thrown> {
    let object = scope.object();
    object.set("name", &scope.string(algorithm.name()))?;
    let set_hash = |name: &str| {
        let hash = scope.object();
        hash.set("name", &scope.string(name))?;
        object.set("hash", &hash)
    };
    match algorithm {
        KeyAlgorithm::Aes { bits, .. } => object.set("length", &scope.number(*bits as f64))?,
        KeyAlgorithm::Hmac { hash, bits } => {
            set_hash(hash.name())?;
            object.set("length", &scope.number(*bits as f64))?;
        }
        KeyAlgorithm::Elliptic { curve, .. } => object.set("namedCurve", &scope.string(curve.name()))?,
        KeyAlgorithm::Rsa { hash, bits, .. } => {
            object.set("modulusLength", &scope.number(*bits as f64))?;
            set_hash(hash.name())?;
        }
        KeyAlgorithm::Pbkdf2 => {}
    }
    Ok(object)
}

/// What keys inherit from.
pub(super) fn set_prototype(scope: Scope<'_>) -> Result<(), Thrown> {
    scope.set_class_prototype::<CryptoKey>(scope.object())
}

pub(super) fn pair_object(scope: Scope<'_>, pair: KeyPair) -> Result<Value<'_>, Thrown> {
    let object = scope.object();
    object.set("privateKey", &scope.hold(Rc::new(pair.private))?)?;
    object.set("publicKey", &scope.hold(Rc::new(pair.public))?)?;
    Ok(object)
}

/// The key that an operation is given.
pub(super) fn given(value: &Value<'_>, operation: &str) -> Result<Rc<CryptoKey>, Refusal> {
    let invalid = || {
        CryptoError::invalid_access(format!(
            "{operation}'s key argument does hold not a valid CryptoKey object"
        ))
    };
    value.held::<CryptoKey>().ok_or_else(|| invalid().into())
}

/// The usages that a script names.
pub(super) fn usages(value: &Value<'_>) -> Result<Vec<String>, Thrown> {
    if !value.is_array() {
        return Ok(Vec::new());
    }
    (0..value.length()?).map(|at| Ok(value.at(at)?.text()?.to_string())).collect()
}
