//! The operations of `crypto.subtle`. Each is wrapped so that it returns a promise.

use std::rc::Rc;

use super::algorithm::{AES, RSA, curve, data, hash, integer, name, optional_bytes, optional_integer, param};
use super::{Refusal, key};
use crate::js::{Call, Thrown, Value};
use crate::modules::defining::add;
use crate::web_crypto::{
    AesParams, CryptoError, CryptoKey, Direction, Hash, KeyAlgorithm, KeyData, KeyKind, Material, Mode,
    RsaPadding, agreed, crypt_aes, decrypt_oaep, derived, encrypt_oaep, export_elliptic, export_rsa,
    generate_aes, generate_elliptic, generate_hmac, generate_rsa, import_aes, import_elliptic, import_hmac,
    import_rsa, sign_ecdsa, sign_hmac, sign_rsa, symmetric_jwk, verify_ecdsa, verify_hmac, verify_rsa,
};

macro_rules! operations {
    ($($name:literal $parameters:literal $operation:ident),* $(,)?) => {
        pub(super) fn add_to(object: &Value<'_>) -> Result<(), Thrown> {
            $(add(object, $name, $parameters, |call| {
                $operation(call).map_err(|refusal| refusal.thrown(call.scope()))
            })?;)*
            Ok(())
        }
    };
}

operations!(
    "decrypt" 3 decrypt,
    "deriveBits" 3 derive_bits,
    "deriveKey" 5 derive_key,
    "digest" 2 digest,
    "encrypt" 3 encrypt,
    "exportKey" 2 export_key,
    "generateKey" 3 generate_key,
    "importKey" 5 import_key,
    "sign" 3 sign,
    "unwrapKey" 7 not_implemented,
    "verify" 4 verify,
    "wrapKey" 4 not_implemented,
);

type Outcome<'js> = Result<Value<'js>, Refusal>;

/// As in k6.
fn not_implemented<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    call.scope().throw("not implemented");
    Err(Refusal::Thrown)
}

fn digest<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let bytes = data(&call.argument(1))?;
    let hash = Hash::named(name(&call.argument(0), "digest")?)?;
    Ok(call.scope().array_buffer(&hash.digest(&bytes)))
}

fn encrypt<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    crypt(call, Direction::Encrypt)
}

fn decrypt<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    crypt(call, Direction::Decrypt)
}

fn crypt<'js>(call: &Call<'js, '_>, direction: Direction) -> Outcome<'js> {
    let operation = if direction == Direction::Encrypt { "encrypt" } else { "decrypt" };
    let bytes = data(&call.argument(2))?;
    let params = call.argument(0);
    let name = name(&params, operation)?;
    let key = key::given(&call.argument(1), operation)?;
    require_same(operation, name, &key)?;
    let mode = match name {
        "AES-CBC" => Some((Mode::Cbc, "iv")),
        "AES-CTR" => Some((Mode::Ctr, "counter")),
        "AES-GCM" => Some((Mode::Gcm, "iv")),
        "RSA-OAEP" => None,
        other => return Err(CryptoError::not_supported(format!("unsupported algorithm {other}")).into()),
    };
    require_usage(operation, &key)?;
    let output = match (mode, direction) {
        (Some((mode, iv)), _) => {
            let params = AesParams {
                iv: optional_bytes(&params, iv)?,
                counter_bits: optional_integer(&params, "length")?.unwrap_or(0),
                additional: optional_bytes(&params, "additionalData")?,
                tag_bits: optional_integer(&params, "tagLength")?.unwrap_or(0),
            };
            crypt_aes((mode, direction), &key, &params, bytes)?
        }
        (None, Direction::Encrypt) => encrypt_oaep(&key, &optional_bytes(&params, "label")?, &bytes)?,
        (None, Direction::Decrypt) => decrypt_oaep(&key, &optional_bytes(&params, "label")?, &bytes)?,
    };
    Ok(call.scope().array_buffer(&output))
}

fn require_same(operation: &str, name: &str, key: &CryptoKey) -> Result<(), Refusal> {
    if name == key.algorithm.name() {
        return Ok(());
    }
    let whose = if operation.ends_with("crypt") { format!("{operation}'s ") } else { String::new() };
    Err(CryptoError::invalid_access(format!("{whose}algorithm name does not match key algorithm name"))
        .into())
}

fn require_usage(operation: &str, key: &CryptoKey) -> Result<(), Refusal> {
    if key.can(operation) {
        return Ok(());
    }
    let whose = if operation.ends_with("crypt") { format!("{operation}'s ") } else { String::new() };
    Err(CryptoError::invalid_access(format!("{whose}key does not contain the '{operation}' usage")).into())
}

/// How something is signed.
enum Signing {
    Hmac,
    Ecdsa(Hash),
    Rsa(RsaPadding),
}

fn signing(params: &Value<'_>, name: &str) -> Result<Signing, Refusal> {
    Ok(match name {
        "HMAC" => Signing::Hmac,
        "ECDSA" => Signing::Ecdsa(hash(params)?),
        "RSA-PSS" => Signing::Rsa(RsaPadding::Pss(integer(params, "saltLength")?)),
        _ => Signing::Rsa(RsaPadding::Pkcs1),
    })
}

/// How the parameters have it signed, and by which key.
fn signing_key(call: &Call<'_, '_>, operation: &str) -> Result<(Signing, Rc<CryptoKey>), Refusal> {
    let params = call.argument(0);
    let name = name(&params, operation)?;
    let signing = signing(&params, name)?;
    let key = call.argument(1).held::<CryptoKey>();
    let key = key
        .ok_or_else(|| CryptoError::invalid_access("key argument does hold not a valid CryptoKey object"))?;
    require_same(operation, name, &key)?;
    require_usage(operation, &key)?;
    Ok((signing, key))
}

fn sign<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let bytes = data(&call.argument(2))?;
    let (signing, key) = signing_key(call, "sign")?;
    let signature = match signing {
        Signing::Hmac => sign_hmac(&key, &bytes)?,
        Signing::Ecdsa(hash) => sign_ecdsa(&key, hash, &bytes)?,
        Signing::Rsa(padding) => sign_rsa(&key, padding, &bytes)?,
    };
    Ok(call.scope().array_buffer(&signature))
}

fn verify<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (signature, bytes) = (data(&call.argument(2))?, data(&call.argument(3))?);
    let (signing, key) = signing_key(call, "verify")?;
    let is_valid = match signing {
        Signing::Hmac => verify_hmac(&key, &signature, &bytes)?,
        Signing::Ecdsa(hash) => verify_ecdsa(&key, hash, &signature, &bytes)?,
        Signing::Rsa(padding) => verify_rsa(&key, padding, &signature, &bytes)?,
    };
    Ok(call.scope().boolean(is_valid))
}

fn generate_key<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let scope = call.scope();
    let params = call.argument(0);
    let name = name(&params, "generateKey")?;
    let (is_extractable, usages) = (call.argument(1).is_truthy(), key::usages(&call.argument(2))?);
    let pair = match name {
        "ECDH" | "ECDSA" => generate_elliptic(name, curve(&params)?, is_extractable, &usages)?,
        rsa if RSA.contains(&rsa) => {
            let size = (integer(&params, "modulusLength")?, optional_bytes(&params, "publicExponent")?);
            generate_rsa(name, hash(&params)?, (size.0, &size.1), is_extractable, &usages)?
        }
        secret => {
            let key = match secret {
                aes if AES.contains(&aes) => {
                    generate_aes(name, integer(&params, "length")?, is_extractable, usages)?
                }
                "HMAC" => {
                    let bits = optional_integer(&params, "length")?;
                    generate_hmac(hash(&params)?, bits, is_extractable, usages)?
                }
                other => {
                    let why = format!("unsupported key generation algorithm '{other}'");
                    return Err(CryptoError::not_supported(why).into());
                }
            };
            return Ok(scope.hold(Rc::new(key.with_usages()?))?);
        }
    };
    Ok(key::pair_object(scope, pair)?)
}

fn import_key<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (format, given) = (call.argument(0).text()?.to_string(), call.argument(1));
    let data = match format.as_str() {
        "raw" => KeyData::Raw(data(&given)?),
        "pkcs8" => KeyData::Pkcs8(data(&given)?),
        "spki" => KeyData::Spki(data(&given)?),
        "jwk" => {
            let json = given.json()?.and_then(|json| serde_json::from_str(&json).ok());
            KeyData::Jwk(json.unwrap_or_default())
        }
        other => return Err(CryptoError::implementation(format!("unsupported format {other}")).into()),
    };
    let key =
        imported(data, &call.argument(2), call.argument(3).is_truthy(), key::usages(&call.argument(4))?)?;
    Ok(call.scope().hold(Rc::new(key))?)
}

fn imported(
    data: KeyData,
    params: &Value<'_>,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, Refusal> {
    let name = name(params, "importKey")?;
    let key = match name {
        "HMAC" => {
            let bits = optional_integer(params, "length")?;
            import_hmac(data, hash(params)?, bits, is_extractable, usages)?
        }
        "ECDH" | "ECDSA" => import_elliptic(data, name, curve(params)?, is_extractable, usages)?,
        "PBKDF2" => import_password(data, is_extractable, usages)?,
        aes if AES.contains(&aes) => import_aes(data, name, is_extractable, usages)?,
        _ => import_rsa(data, name, hash(params)?, is_extractable, usages)?,
    };
    Ok(key.with_usages()?)
}

fn import_password(
    data: KeyData,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, CryptoError> {
    let KeyData::Raw(password) = data else {
        return Err(CryptoError::not_supported(format!("invalid format: {}", data.format())));
    };
    if let Some(usage) = usages.iter().find(|usage| !["deriveBits", "deriveKey"].contains(&usage.as_str())) {
        return Err(CryptoError::syntax(format!("invalid key usage: {usage}")));
    }
    if is_extractable {
        return Err(CryptoError::syntax("invalid value for param extractable "));
    }
    let material = Material::Secret(password);
    Ok(CryptoKey { algorithm: KeyAlgorithm::Pbkdf2, is_extractable, usages, material })
}

fn export_key<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let scope = call.scope();
    let (format, key) = (call.argument(0).text()?.to_string(), call.argument(1).held::<CryptoKey>());
    let key =
        key.ok_or_else(|| CryptoError::implementation("unable to extract CryptoKey from key object"))?;
    if !key.is_extractable {
        return Err(CryptoError::invalid_access("the key is not extractable").into());
    }
    let exported = match (&key.algorithm, format.as_str()) {
        (KeyAlgorithm::Elliptic { curve, .. }, format) => export_elliptic(&key, *curve, format)?,
        (KeyAlgorithm::Rsa { .. }, format) => export_rsa(&key, format)?,
        (KeyAlgorithm::Pbkdf2, _) => {
            return Err(CryptoError::not_supported("unsupported algorithm PBKDF2").into());
        }
        (_, "raw") => KeyData::Raw(key.secret()?.to_vec()),
        (_, "jwk") => KeyData::Jwk(symmetric_jwk(&key)?),
        (_, other) => {
            return Err(CryptoError::not_supported(format!("unsupported key format {other}")).into());
        }
    };
    Ok(match exported {
        KeyData::Raw(bytes) | KeyData::Pkcs8(bytes) | KeyData::Spki(bytes) => scope.array_buffer(&bytes),
        KeyData::Jwk(jwk) => scope.parse_json(&jwk.to_string(), "jwk")?,
    })
}

/// Bits that PBKDF2 derives from a password.
fn from_password(params: &Value<'_>, key: &CryptoKey, usage: &str, bits: i64) -> Result<Vec<u8>, Refusal> {
    let hash = hash(params)?;
    let missing = |field: &str| CryptoError::type_error(format!("field {field} is null or undefined"));
    let iterations = param(params, "iterations", missing("iterations"))?.as_number()? as i64;
    let salt = param(params, "salt", missing("salt"))?;
    let salt = match salt.is_string() {
        true => salt.text()?.to_string().into_bytes(),
        false => data(&salt)?,
    };
    if key.material.kind() != KeyKind::Secret {
        return Err(CryptoError::invalid_access("algorithm's password key is not a secret key").into());
    }
    if !key.can(usage) {
        return Err(
            CryptoError::invalid_access(format!("provided baseKey doesn't contain `{usage}` usage")).into()
        );
    }
    let bits = usize::try_from(bits).map_err(|_| CryptoError::operation("length is too large"))?;
    Ok(derived(hash, key.secret()?, &salt, iterations, bits)?)
}

fn derive_bits<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let params = call.argument(0);
    let name = name(&params, "deriveBits")?;
    let base = key::given(&call.argument(1), "deriveBits")?;
    let bits = call.argument(2).as_number()? as i64;
    if bits == 0 {
        return Err(CryptoError::operation("length can not be 0").into());
    }
    if bits % 8 != 0 {
        return Err(CryptoError::operation("currently only multiples of 8 are supported for length").into());
    }
    let output = match name {
        "PBKDF2" => from_password(&params, &base, "deriveBits", bits)?,
        "ECDH" => {
            let missing = CryptoError::type_error("algorithm does not contain a public key");
            let public = param(&params, "public", missing)?.held::<CryptoKey>();
            let public = public
                .ok_or_else(|| CryptoError::type_error("algorithm's public is not a valid CryptoKey"))?;
            require_agreement(&base, &public)?;
            let bits = usize::try_from(bits).map_err(|_| CryptoError::operation("length is too large"))?;
            agreed(&base, &public, bits)?
        }
        other => {
            return Err(CryptoError::not_supported(format!(
                "unsupported algorithm for derive bits: {other}"
            ))
            .into());
        }
    };
    Ok(call.scope().array_buffer(&output))
}

fn require_agreement(private: &CryptoKey, public: &CryptoKey) -> Result<(), CryptoError> {
    if public.material.kind() != KeyKind::Public {
        return Err(CryptoError::invalid_access("algorithm's public key is not a public key"));
    }
    if public.algorithm.name() != "ECDH" {
        let own = public.algorithm.name();
        let why = format!("algorithm name does not match public key's algorithm name: ECDH != {own}");
        return Err(CryptoError::invalid_access(why));
    }
    if private.material.kind() != KeyKind::Private {
        return Err(CryptoError::invalid_access("provided baseKey is not a private key"));
    }
    if !private.can("deriveBits") {
        return Err(CryptoError::invalid_access("provided baseKey does not contain the 'deriveBits' usage"));
    }
    Ok(())
}

fn derive_key<'js>(call: &Call<'js, '_>) -> Outcome<'js> {
    let (params, kind) = (call.argument(0), call.argument(2));
    let by = name(&params, "deriveKey")?;
    name(&kind, "importKey")?;
    name(&kind, "getKeyLength")?;
    if by != "PBKDF2" {
        return Err(
            CryptoError::not_supported(format!("key derivation not implemented for algorithm {by}")).into()
        );
    }
    let bits = param(&kind, "length", CryptoError::operation("aes length parameter not specified"))?;
    let base = key::given(&call.argument(1), "deriveKey")?;
    let bits = bits.as_number()? as i64;
    let secret = from_password(&params, &base, "deriveKey", bits)?;
    let (is_extractable, usages) = (call.argument(3).is_truthy(), key::usages(&call.argument(4))?);
    let key = imported(KeyData::Raw(secret), &kind, is_extractable, usages)?;
    Ok(call.scope().hold(Rc::new(key))?)
}
