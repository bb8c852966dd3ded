//! RSA: keys, signatures, encryption.

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{
    KeyPair as RsaPair, KeyPairComponents, KeySize, OAEP_SHA1_MGF1SHA1, OAEP_SHA256_MGF1SHA256,
    OAEP_SHA384_MGF1SHA384, OAEP_SHA512_MGF1SHA512, OaepAlgorithm, OaepPrivateDecryptingKey,
    OaepPublicEncryptingKey, PrivateDecryptingKey, PublicEncryptingKey, PublicKey, PublicKeyComponents,
};
use aws_lc_rs::signature::{
    KeyPair as _, RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding, RsaParameters,
};
use serde_json::{Value, json};

use super::jwk::{bytes_of, require_kind, shown};
use super::{
    CryptoError, CryptoKey, Hash, KeyAlgorithm, KeyData, KeyPair, Material, require_usages,
    unsupported_format, usages_of,
};

/// The only exponent that keys are made with.
const EXPONENT: u64 = 65_537;

/// A private key.
#[derive(Debug)]
pub(crate) struct RsaPrivate(RsaPair);

/// A public key.
#[derive(Debug)]
pub(crate) struct RsaPublic {
    /// As a SubjectPublicKeyInfo.
    info: Vec<u8>,
    modulus: Vec<u8>,
    exponent: Vec<u8>,
}

impl RsaPublic {
    fn new(key: &PublicKey) -> Result<RsaPublic, CryptoError> {
        let unreadable = || CryptoError::data("unable to read the RSA public key");
        let numbers = pkcs1::RsaPublicKey::try_from(key.as_ref()).map_err(|_| unreadable())?;
        let (modulus, exponent) =
            (numbers.modulus.as_bytes().to_vec(), numbers.public_exponent.as_bytes().to_vec());
        let info: PublicKeyX509Der<'_> = key.as_der().map_err(|_| unreadable())?;
        Ok(RsaPublic { info: info.as_ref().to_vec(), modulus, exponent })
    }

    fn of_private(private: &RsaPrivate) -> Result<RsaPublic, CryptoError> {
        RsaPublic::new(private.0.public_key())
    }

    fn of_info(info: &[u8]) -> Result<RsaPublic, CryptoError> {
        let key = PublicKey::from_der(info);
        let key =
            key.map_err(|error| CryptoError::data(format!("unable to import RSA public key data: {error}")))?;
        RsaPublic::new(&key)
    }

    fn bits(&self) -> usize {
        let leading = self.modulus.first().map_or(0, |byte| byte.leading_zeros() as usize);
        self.modulus.len() * 8 - leading
    }
}

impl RsaPrivate {
    fn of_document(document: &[u8]) -> Result<RsaPrivate, CryptoError> {
        let pair = RsaPair::from_pkcs8(document);
        let pair = pair
            .map_err(|error| CryptoError::data(format!("unable to import RSA private key data: {error}")))?;
        Ok(RsaPrivate(pair))
    }

    /// As PKCS #8.
    fn document(&self) -> Result<Vec<u8>, CryptoError> {
        let document: Result<Pkcs8V1Der<'_>, _> = self.0.as_der();
        let failed = |_| CryptoError::operation("unable to marshal key to PKCS8 format");
        Ok(document.map_err(failed)?.as_ref().to_vec())
    }
}

fn usages_of_parts(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "RSA-OAEP" => (&["decrypt"], &["encrypt"]),
        _ => (&["sign"], &["verify"]),
    }
}

/// A new pair of keys of so many bits.
///
/// # Errors
/// That there is none of such a size, or with such an exponent or such usages.
pub(crate) fn generate_rsa(
    name: &'static str,
    hash: Hash,
    (bits, exponent): (i64, &[u8]),
    is_extractable: bool,
    usages: &[String],
) -> Result<KeyPair, CryptoError> {
    let exponent = exponent.iter().fold(0_u64, |number, byte| number.saturating_mul(256) + u64::from(*byte));
    if exponent != EXPONENT {
        return Err(CryptoError::operation(format!("invalid public exponent: {exponent} is not {EXPONENT}")));
    }
    if usages.is_empty() {
        return Err(CryptoError::syntax("key usages cannot be empty"));
    }
    let allowed: &[&str] = match name {
        "RSA-OAEP" => &["encrypt", "decrypt", "wrapKey", "unwrapKey"],
        _ => &["sign", "verify"],
    };
    require_usages(usages, allowed)?;
    let size = match bits {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        4096 => KeySize::Rsa4096,
        8192 => KeySize::Rsa8192,
        _ => {
            return Err(CryptoError::not_supported(format!(
                "keys of {bits} bits are not made: 2048, 3072, 4096, 8192"
            )));
        }
    };
    let pair = RsaPair::generate(size);
    let private = RsaPrivate(pair.map_err(|_| CryptoError::operation("could not generate RSA key pair"))?);
    let (of_private, of_public) = usages_of_parts(name);
    let algorithm = KeyAlgorithm::Rsa { name, hash, bits: bits as usize };
    Ok(KeyPair {
        public: CryptoKey {
            algorithm: algorithm.clone(),
            is_extractable: true,
            usages: usages_of(usages, of_public),
            material: Material::RsaPublic(RsaPublic::of_private(&private)?),
        },
        private: CryptoKey {
            algorithm,
            is_extractable,
            usages: usages_of(usages, of_private),
            material: Material::RsaPrivate(private),
        },
    })
}

/// A key from outside.
///
/// # Errors
/// The key cannot be read.
pub(crate) fn import_rsa(
    data: KeyData,
    name: &'static str,
    hash: Hash,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, CryptoError> {
    let material = match data {
        KeyData::Pkcs8(document) => Material::RsaPrivate(RsaPrivate::of_document(&document)?),
        KeyData::Spki(info) => Material::RsaPublic(RsaPublic::of_info(&info)?),
        KeyData::Jwk(jwk) => of_jwk(&jwk)?,
        KeyData::Raw(_) => {
            return Err(CryptoError::not_supported(format!(
                "unsupported key format raw for algorithm {name}"
            )));
        }
    };
    let bits = match &material {
        Material::RsaPrivate(private) => RsaPublic::of_private(private)?.bits(),
        Material::RsaPublic(public) => public.bits(),
        _ => 0,
    };
    Ok(CryptoKey { algorithm: KeyAlgorithm::Rsa { name, hash, bits }, is_extractable, usages, material })
}

fn of_jwk(jwk: &Value) -> Result<Material, CryptoError> {
    require_kind(jwk, "RSA", "RSA")?;
    let [n, e, d, p, q] = ["n", "e", "d", "p", "q"].map(|name| bytes_of(jwk, name));
    let [first, second, coefficient] = ["dp", "dq", "qi"].map(|name| bytes_of(jwk, name));
    let public_key = PublicKeyComponents { n: n?, e: e? };
    if public_key.n.is_empty() || public_key.e.is_empty() {
        return Err(CryptoError::data("invalid RSA JWK key: modulus (n) and exponent (e) are required"));
    }
    let d = d?;
    if d.is_empty() {
        let modulus = pkcs1::UintRef::new(&public_key.n);
        let exponent = pkcs1::UintRef::new(&public_key.e);
        let (Ok(modulus), Ok(public_exponent)) = (modulus, exponent) else {
            return Err(CryptoError::data("invalid RSA JWK key"));
        };
        let key = pkcs1::RsaPublicKey { modulus, public_exponent };
        let der = pkcs1::der::Encode::to_der(&key).map_err(|_| CryptoError::data("invalid RSA JWK key"))?;
        return Ok(Material::RsaPublic(RsaPublic::of_info(&der)?));
    }
    let components =
        KeyPairComponents { public_key, d, p: p?, q: q?, dP: first?, dQ: second?, qInv: coefficient? };
    let pair = RsaPair::from_components(&components);
    let pair = pair.map_err(|error| CryptoError::data(format!("failed to validate private key: {error}")))?;
    Ok(Material::RsaPrivate(RsaPrivate(pair)))
}

/// A key for outside, in this format.
///
/// # Errors
/// That it has no such form.
pub(crate) fn export_rsa(key: &CryptoKey, format: &str) -> Result<KeyData, CryptoError> {
    match (format, &key.material) {
        ("spki", Material::RsaPublic(public)) => Ok(KeyData::Spki(public.info.clone())),
        ("spki", _) => Err(CryptoError::invalid_access("given CryptoKey is not a public RSA key")),
        ("pkcs8", Material::RsaPrivate(private)) => Ok(KeyData::Pkcs8(private.document()?)),
        ("pkcs8", _) => Err(CryptoError::invalid_access("given CryptoKey is not a private RSA key")),
        ("jwk", Material::RsaPublic(public)) => Ok(KeyData::Jwk(
            json!({ "kty": "RSA", "n": shown(&public.modulus), "e": shown(&public.exponent) }),
        )),
        ("jwk", Material::RsaPrivate(private)) => private_jwk(private).map(KeyData::Jwk),
        (other, _) => Err(unsupported_format(other)),
    }
}

fn private_jwk(private: &RsaPrivate) -> Result<Value, CryptoError> {
    let unreadable = || CryptoError::operation("unable to read the RSA private key");
    let document = private.document()?;
    let info = pkcs8::PrivateKeyInfo::try_from(document.as_slice()).map_err(|_| unreadable())?;
    let key = pkcs1::RsaPrivateKey::try_from(info.private_key).map_err(|_| unreadable())?;
    let text = |number: pkcs1::UintRef<'_>| shown(number.as_bytes());
    Ok(json!({
        "kty": "RSA",
        "n": text(key.modulus),
        "e": text(key.public_exponent),
        "d": text(key.private_exponent),
        "p": text(key.prime1),
        "q": text(key.prime2),
        "dp": text(key.exponent1),
        "dq": text(key.exponent2),
        "qi": text(key.coefficient),
    }))
}

/// Which signature is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RsaPadding {
    Pkcs1,
    /// PSS, with a salt of so many bytes.
    Pss(i64),
}

/// The digest of a key.
fn hash_of(key: &CryptoKey) -> Result<Hash, CryptoError> {
    match key.algorithm {
        KeyAlgorithm::Rsa { hash, .. } => Ok(hash),
        _ => Err(CryptoError::invalid_access("key algorithm is not a RSA hashed key algorithm")),
    }
}

/// That a salt is as long as the digest.
fn require_salt(hash: Hash, padding: RsaPadding) -> Result<(), CryptoError> {
    match padding {
        RsaPadding::Pss(bytes) if bytes != hash.output_bytes() as i64 => Err(CryptoError::not_supported(
            format!("a saltLength of {bytes} is not supported: {} of {}", hash.output_bytes(), hash.name()),
        )),
        _ => Ok(()),
    }
}

/// # Errors
/// The key is not a private one, or it does not sign in this way.
pub(crate) fn sign_rsa(key: &CryptoKey, padding: RsaPadding, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let Material::RsaPrivate(RsaPrivate(pair)) = &key.material else {
        return Err(CryptoError::invalid_access("given CryptoKey is not a private RSA key"));
    };
    let hash = hash_of(key)?;
    require_salt(hash, padding)?;
    let encoding: &'static dyn RsaEncoding = match (padding, hash) {
        (RsaPadding::Pkcs1, Hash::Sha256) => &RSA_PKCS1_SHA256,
        (RsaPadding::Pkcs1, Hash::Sha384) => &RSA_PKCS1_SHA384,
        (RsaPadding::Pkcs1, Hash::Sha512) => &RSA_PKCS1_SHA512,
        (RsaPadding::Pss(_), Hash::Sha256) => &RSA_PSS_SHA256,
        (RsaPadding::Pss(_), Hash::Sha384) => &RSA_PSS_SHA384,
        (RsaPadding::Pss(_), Hash::Sha512) => &RSA_PSS_SHA512,
        (_, Hash::Sha1) => return Err(CryptoError::not_supported("RSA signatures with SHA-1 are not made")),
    };
    let mut signature = vec![0; pair.public_modulus_len()];
    let signed = pair.sign(encoding, &SystemRandom::new(), data, &mut signature);
    signed.map_err(|_| CryptoError::operation("could not sign data"))?;
    Ok(signature)
}

/// # Errors
/// The key is not a public one, or it does not verify in this way.
pub(crate) fn verify_rsa(
    key: &CryptoKey,
    padding: RsaPadding,
    signature: &[u8],
    data: &[u8],
) -> Result<bool, CryptoError> {
    let Material::RsaPublic(public) = &key.material else {
        return Err(CryptoError::invalid_access("given CryptoKey is not a public RSA key"));
    };
    let hash = hash_of(key)?;
    require_salt(hash, padding)?;
    let params: &'static RsaParameters = match (padding, hash) {
        (RsaPadding::Pkcs1, Hash::Sha1) => &RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
        (RsaPadding::Pkcs1, Hash::Sha256) => &RSA_PKCS1_2048_8192_SHA256,
        (RsaPadding::Pkcs1, Hash::Sha384) => &RSA_PKCS1_2048_8192_SHA384,
        (RsaPadding::Pkcs1, Hash::Sha512) => &RSA_PKCS1_2048_8192_SHA512,
        (RsaPadding::Pss(_), Hash::Sha256) => &RSA_PSS_2048_8192_SHA256,
        (RsaPadding::Pss(_), Hash::Sha384) => &RSA_PSS_2048_8192_SHA384,
        (RsaPadding::Pss(_), Hash::Sha512) => &RSA_PSS_2048_8192_SHA512,
        (RsaPadding::Pss(_), Hash::Sha1) => {
            return Err(CryptoError::not_supported("RSA-PSS signatures with SHA-1 are not verified"));
        }
    };
    let components = PublicKeyComponents { n: public.modulus.as_slice(), e: public.exponent.as_slice() };
    Ok(components.verify(params, data, signature).is_ok())
}

fn oaep(hash: Hash) -> &'static OaepAlgorithm {
    match hash {
        Hash::Sha1 => &OAEP_SHA1_MGF1SHA1,
        Hash::Sha256 => &OAEP_SHA256_MGF1SHA256,
        Hash::Sha384 => &OAEP_SHA384_MGF1SHA384,
        Hash::Sha512 => &OAEP_SHA512_MGF1SHA512,
    }
}

/// # Errors
/// The key is not a public one, or the text is too long.
pub(crate) fn encrypt_oaep(key: &CryptoKey, label: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let Material::RsaPublic(public) = &key.material else {
        return Err(CryptoError::invalid_access("given CryptoKey is not a public RSA key"));
    };
    let failed = || CryptoError::operation("could not encrypt data");
    let encrypting = PublicEncryptingKey::from_der(&public.info).map_err(|_| failed())?;
    let encrypting = OaepPublicEncryptingKey::new(encrypting).map_err(|_| failed())?;
    let mut output = vec![0; encrypting.ciphertext_size()];
    let encrypted = encrypting.encrypt(oaep(hash_of(key)?), data, &mut output, Some(label));
    Ok(encrypted.map_err(|_| failed())?.to_vec())
}

/// # Errors
/// The key is not a private one, or the text was not encrypted for it.
pub(crate) fn decrypt_oaep(key: &CryptoKey, label: &[u8], data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let Material::RsaPrivate(private) = &key.material else {
        return Err(CryptoError::invalid_access("given CryptoKey is not a private RSA key"));
    };
    let failed = || CryptoError::operation("could not decrypt data");
    let decrypting = PrivateDecryptingKey::from_pkcs8(&private.document()?).map_err(|_| failed())?;
    let decrypting = OaepPrivateDecryptingKey::new(decrypting).map_err(|_| failed())?;
    let mut output = vec![0; decrypting.min_output_size()];
    let decrypted = decrypting.decrypt(oaep(hash_of(key)?), data, &mut output, Some(label));
    Ok(decrypted.map_err(|_| failed())?.to_vec())
}
