//! Elliptic curves: keys, signatures by ECDSA, secrets by ECDH.

use aws_lc_rs::agreement::{self, UnparsedPublicKey};
use aws_lc_rs::encoding::AsBigEndian as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{self, EcdsaKeyPair, EcdsaSigningAlgorithm, KeyPair as _, ParsedPublicKey};
use serde_json::{Value, json};

use super::jwk::{bytes_of, require_kind, shown};
use super::{
    CryptoError, CryptoKey, Hash, KeyAlgorithm, KeyData, KeyPair, Material, require_usages,
    unsupported_format, usages_of,
};

/// A curve of Web Crypto.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Curve {
    P256,
    P384,
    P521,
}

/// A private key: its number, and the point that belongs to it.
#[derive(Debug)]
pub(crate) struct EcPrivate {
    number: Vec<u8>,
    point: Vec<u8>,
}

impl Curve {
    /// The curve of this name; none where there is no such curve.
    pub(crate) fn from_name(name: &str) -> Option<Curve> {
        Curve::ALL.into_iter().find(|curve| curve.name() == name)
    }

    const ALL: [Curve; 3] = [Curve::P256, Curve::P384, Curve::P521];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Curve::P256 => "P-256",
            Curve::P384 => "P-384",
            Curve::P521 => "P-521",
        }
    }

    /// Bytes of a number.
    pub(super) fn number_bytes(self) -> usize {
        match self {
            Curve::P256 => 32,
            Curve::P384 => 48,
            Curve::P521 => 66,
        }
    }

    /// What comes before a point in a SubjectPublicKeyInfo (RFC 5480).
    fn info_prefix(self) -> &'static [u8] {
        match self {
            Curve::P256 => {
                b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07\x03\x42\x00"
            }
            Curve::P384 => {
                b"\x30\x76\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22\x03\x62\x00"
            }
            Curve::P521 => {
                b"\x30\x81\x9b\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x23\x03\x81\x86\x00"
            }
        }
    }

    fn agreement(self) -> &'static agreement::Algorithm {
        match self {
            Curve::P256 => &agreement::ECDH_P256,
            Curve::P384 => &agreement::ECDH_P384,
            Curve::P521 => &agreement::ECDH_P521,
        }
    }

    /// What signs with the digest that the curve is usually used with.
    fn usual_signing(self) -> &'static EcdsaSigningAlgorithm {
        match self {
            Curve::P256 => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
            Curve::P384 => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
            Curve::P521 => &signature::ECDSA_P521_SHA512_FIXED_SIGNING,
        }
    }

    fn signing(self, hash: Hash) -> Result<&'static EcdsaSigningAlgorithm, CryptoError> {
        match (self, hash) {
            (Curve::P256, Hash::Sha256) | (Curve::P384, Hash::Sha384) | (Curve::P521, Hash::Sha512) => {
                Ok(self.usual_signing())
            }
            (Curve::P521, Hash::Sha256) => Ok(&signature::ECDSA_P521_SHA256_FIXED_SIGNING),
            (Curve::P521, Hash::Sha384) => Ok(&signature::ECDSA_P521_SHA384_FIXED_SIGNING),
            _ => Err(CryptoError::not_supported(format!(
                "signatures by {} with {} are not supported",
                self.name(),
                hash.name()
            ))),
        }
    }

    /// What verifies a signature whose numbers are in DER.
    fn verifying(self, hash: Hash) -> Result<&'static signature::EcdsaVerificationAlgorithm, CryptoError> {
        Ok(match (self, hash) {
            (Curve::P256, Hash::Sha1) => &signature::ECDSA_P256_SHA1_ASN1,
            (Curve::P256, Hash::Sha256) => &signature::ECDSA_P256_SHA256_ASN1,
            (Curve::P256, Hash::Sha384) => &signature::ECDSA_P256_SHA384_ASN1,
            (Curve::P256, Hash::Sha512) => &signature::ECDSA_P256_SHA512_ASN1,
            (Curve::P384, Hash::Sha256) => &signature::ECDSA_P384_SHA256_ASN1,
            (Curve::P384, Hash::Sha384) => &signature::ECDSA_P384_SHA384_ASN1,
            (Curve::P384, Hash::Sha512) => &signature::ECDSA_P384_SHA512_ASN1,
            (Curve::P521, Hash::Sha1) => &signature::ECDSA_P521_SHA1_ASN1,
            (Curve::P521, Hash::Sha256) => &signature::ECDSA_P521_SHA256_ASN1,
            (Curve::P521, Hash::Sha384) => &signature::ECDSA_P521_SHA384_ASN1,
            (Curve::P521, Hash::Sha512) => &signature::ECDSA_P521_SHA512_ASN1,
            (Curve::P384, Hash::Sha1) => {
                return Err(CryptoError::not_supported("signatures by P-384 with SHA-1 are not supported"));
            }
        })
    }

    /// A point that is on the curve.
    fn point(self, point: Vec<u8>) -> Result<Vec<u8>, CryptoError> {
        let is_whole = point.len() == 1 + 2 * self.number_bytes() && point[0] == 4;
        let is_on_curve =
            is_whole && ParsedPublicKey::new(self.verifying(Hash::Sha256)?, point.as_slice()).is_ok();
        if !is_on_curve {
            return Err(CryptoError::data("unable to import EC public key data"));
        }
        Ok(point)
    }

    fn private(self, pair: &EcdsaKeyPair) -> Result<EcPrivate, CryptoError> {
        let number = pair.private_key().as_be_bytes();
        let number = number.map_err(|_| CryptoError::operation("unable to read the private key"))?;
        Ok(EcPrivate { number: number.as_ref().to_vec(), point: pair.public_key().as_ref().to_vec() })
    }
}

impl EcPrivate {
    fn pair(&self, algorithm: &'static EcdsaSigningAlgorithm) -> Result<EcdsaKeyPair, CryptoError> {
        let pair = EcdsaKeyPair::from_private_key_and_public_key(algorithm, &self.number, &self.point);
        pair.map_err(|error| CryptoError::data(format!("unable to import EC private key data: {error}")))
    }
}

fn usages_of_parts(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "ECDH" => (&["deriveKey", "deriveBits"], &[]),
        _ => (&["sign"], &["verify"]),
    }
}

/// A new pair of keys.
///
/// # Errors
/// That there is none with these usages.
pub(crate) fn generate_elliptic(
    name: &'static str,
    curve: Curve,
    is_extractable: bool,
    usages: &[String],
) -> Result<KeyPair, CryptoError> {
    if usages.is_empty() {
        return Err(CryptoError::syntax("key usages cannot be empty"));
    }
    let (of_private, of_public) = usages_of_parts(name);
    let allowed: Vec<&str> = of_private.iter().chain(of_public).copied().collect();
    require_usages(usages, &allowed).map_err(|_| CryptoError::syntax("invalid key usage"))?;
    let pair = EcdsaKeyPair::generate(curve.usual_signing());
    let pair = pair.map_err(|_| CryptoError::operation("unable to generate a key pair"))?;
    let private = curve.private(&pair)?;
    let algorithm = KeyAlgorithm::Elliptic { name, curve };
    Ok(KeyPair {
        public: CryptoKey {
            algorithm: algorithm.clone(),
            is_extractable: true,
            usages: usages_of(usages, of_public),
            material: Material::EcPublic(private.point.clone()),
        },
        private: CryptoKey {
            algorithm,
            is_extractable,
            usages: usages_of(usages, of_private),
            material: Material::EcPrivate(private),
        },
    })
}

/// A key from outside. As in k6 its curve is the one that it names itself; a point alone is of the curve that the script names.
///
/// # Errors
/// The key cannot be read.
pub(crate) fn import_elliptic(
    data: KeyData,
    name: &'static str,
    curve: Curve,
    is_extractable: bool,
    usages: Vec<String>,
) -> Result<CryptoKey, CryptoError> {
    let unreadable = |kind: &str| CryptoError::data(format!("unable to import {name} {kind} key data"));
    let (curve, material) = match data {
        KeyData::Raw(point) => (curve, Material::EcPublic(curve.point(point)?)),
        KeyData::Spki(info) => {
            let point_of = |curve: Curve| Some((curve, info.strip_prefix(curve.info_prefix())?));
            let found = Curve::ALL.into_iter().find_map(point_of);
            let (curve, point) = found.ok_or_else(|| unreadable("public"))?;
            (curve, Material::EcPublic(curve.point(point.to_vec())?))
        }
        KeyData::Pkcs8(document) => {
            let pair_of = |curve: Curve| {
                Some((curve, EcdsaKeyPair::from_pkcs8(curve.usual_signing(), &document).ok()?))
            };
            let found = Curve::ALL.into_iter().find_map(pair_of);
            let (curve, pair) = found.ok_or_else(|| unreadable("private"))?;
            (curve, Material::EcPrivate(curve.private(&pair)?))
        }
        KeyData::Jwk(jwk) => {
            let EcJwk { curve, x, y, number } = ec_of_jwk(&jwk)?;
            let point: Vec<u8> =
                std::iter::once(4).chain(padded(&x, curve)).chain(padded(&y, curve)).collect();
            let material = match number {
                None => Material::EcPublic(curve.point(point)?),
                Some(number) => {
                    let private = EcPrivate { number: padded(&number, curve), point };
                    private.pair(curve.usual_signing())?;
                    Material::EcPrivate(private)
                }
            };
            (curve, material)
        }
    };
    Ok(CryptoKey { algorithm: KeyAlgorithm::Elliptic { name, curve }, is_extractable, usages, material })
}

/// A number with zeros in front, as long as those of the curve.
fn padded(number: &[u8], curve: Curve) -> Vec<u8> {
    let zeros = curve.number_bytes().saturating_sub(number.len());
    std::iter::repeat_n(0, zeros).chain(number.iter().copied()).collect()
}

/// A key for outside, in this format.
///
/// # Errors
/// That it has no such form.
pub(crate) fn export_elliptic(key: &CryptoKey, curve: Curve, format: &str) -> Result<KeyData, CryptoError> {
    let not =
        |what: &str| CryptoError::invalid_access(format!("key is not a valid elliptic curve {what} key"));
    match (format, &key.material) {
        ("raw", Material::EcPublic(point)) => Ok(KeyData::Raw(point.clone())),
        ("spki", Material::EcPublic(point)) => {
            Ok(KeyData::Spki([curve.info_prefix(), point.as_slice()].concat()))
        }
        ("raw" | "spki", _) => Err(not("public")),
        ("pkcs8", Material::EcPrivate(private)) => {
            let document = private.pair(curve.usual_signing())?.to_pkcs8v1();
            let failed = |_| CryptoError::operation("unable to marshal key to PKCS8 format");
            Ok(KeyData::Pkcs8(document.map_err(failed)?.as_ref().to_vec()))
        }
        ("pkcs8", _) => Err(not("private")),
        ("jwk", Material::EcPrivate(EcPrivate { number, point })) => {
            Ok(KeyData::Jwk(EcJwk::shown(curve, &point[1..], Some(number))))
        }
        ("jwk", Material::EcPublic(point)) => Ok(KeyData::Jwk(EcJwk::shown(curve, &point[1..], None))),
        (other, _) => Err(unsupported_format(other)),
    }
}

/// Sign data; both numbers, one after the other.
///
/// # Errors
/// The key is not a private one, or its curve is not used with this digest.
pub(crate) fn sign_ecdsa(key: &CryptoKey, hash: Hash, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let (KeyAlgorithm::Elliptic { curve, .. }, Material::EcPrivate(private)) =
        (&key.algorithm, &key.material)
    else {
        return Err(CryptoError::invalid_access("key is not a valid ECDSA private key"));
    };
    let signed = private.pair(curve.signing(hash)?)?.sign(&SystemRandom::new(), data);
    Ok(signed.map_err(|_| CryptoError::operation("unable to sign data"))?.as_ref().to_vec())
}

/// # Errors
/// The key is not a public one.
pub(crate) fn verify_ecdsa(
    key: &CryptoKey,
    hash: Hash,
    signature: &[u8],
    data: &[u8],
) -> Result<bool, CryptoError> {
    let (KeyAlgorithm::Elliptic { curve, .. }, Material::EcPublic(point)) = (&key.algorithm, &key.material)
    else {
        return Err(CryptoError::invalid_access("key is not a valid ECDSA public key"));
    };
    if signature.len() != 2 * curve.number_bytes() {
        return Ok(false);
    }
    let (r, s) = signature.split_at(curve.number_bytes());
    let key = signature::UnparsedPublicKey::new(curve.verifying(hash)?, point);
    Ok(key.verify(data, &signature_in_der(r, s)).is_ok())
}

/// The DER of two numbers, which are short enough for lengths of two bytes.
fn signature_in_der(r: &[u8], s: &[u8]) -> Vec<u8> {
    let integer = |number: &[u8]| {
        let zeros = number.iter().take_while(|byte| **byte == 0).count().min(number.len() - 1);
        let number = &number[zeros..];
        let sign: &[u8] = if number[0] & 0x80 == 0 { &[] } else { &[0] };
        [&[2, (sign.len() + number.len()) as u8], sign, number].concat()
    };
    let both = [integer(r), integer(s)].concat();
    let head: &[u8] = if both.len() < 0x80 { &[0x30] } else { &[0x30, 0x81] };
    [head, &[both.len() as u8], &both].concat()
}

/// So many bits that the owner of one key and that of the other have in common.
///
/// # Errors
/// That they are not keys of the same curve.
pub(crate) fn agreed(private: &CryptoKey, public: &CryptoKey, bits: usize) -> Result<Vec<u8>, CryptoError> {
    let (KeyAlgorithm::Elliptic { curve, .. }, KeyAlgorithm::Elliptic { curve: other, .. }) =
        (&private.algorithm, &public.algorithm)
    else {
        return Err(CryptoError::invalid_access("keys are not valid elliptic curve keys"));
    };
    if curve != other {
        let (own, other) = (curve.name(), other.name());
        return Err(CryptoError::invalid_access(format!("keys have different curves {own} and {other}")));
    }
    let Material::EcPrivate(own) = &private.material else {
        return Err(CryptoError::invalid_access("key is not a valid ECDH private key"));
    };
    let Material::EcPublic(point) = &public.material else {
        return Err(CryptoError::invalid_access("key is not a valid ECDH public key"));
    };
    let failed = || CryptoError::operation("unable to derive bits");
    let own =
        agreement::PrivateKey::from_private_key(curve.agreement(), &own.number).map_err(|_| failed())?;
    let other = UnparsedPublicKey::new(curve.agreement(), point);
    let secret = agreement::agree(&own, other, failed(), |secret| Ok(secret.to_vec()))?;
    let bytes = secret.get(..bits / 8).ok_or_else(|| CryptoError::operation("length is too large"))?;
    Ok(bytes.to_vec())
}

/// What the JSON of a key of an elliptic curve says.
struct EcJwk {
    curve: Curve,
    x: Vec<u8>,
    y: Vec<u8>,
    /// Of a private key.
    number: Option<Vec<u8>>,
}

fn ec_of_jwk(jwk: &Value) -> Result<EcJwk, CryptoError> {
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
    fn shown(curve: Curve, coordinates: &[u8], number: Option<&Vec<u8>>) -> Value {
        let (x, y) = coordinates.split_at(curve.number_bytes());
        let mut jwk = json!({ "kty": "EC", "crv": curve.name(), "x": shown(x), "y": shown(y) });
        if let Some(number) = number {
            jwk["d"] = json!(shown(number));
        }
        jwk
    }
}
