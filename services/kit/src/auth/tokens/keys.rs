//! The public keys of a JWKS, each for the one algorithm that fits it, and the tokens that were verified with them.

use std::collections::HashMap;

use aws_lc_rs::digest;
use aws_lc_rs::rsa::PublicKeyComponents;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::TokenError;
use super::cache::VerifiedTokens;
use super::jws::{Algorithm, Token};

/// An issuer has a handful of keys.
const MAX_KEYS: usize = 100;
/// RSA keys from 2048 to 8192 bits, in bytes.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

#[derive(Deserialize)]
struct JwksDocument {
    keys: Vec<JwkEntry>,
}

/// One entry; members of other kinds of keys are ignored.
#[derive(Deserialize)]
struct JwkEntry {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    r#use: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

struct Key {
    algorithm: Algorithm,
    public: ParsedPublicKey,
}

/// One set of keys as it was fetched. A changed set is a new one, so that the tokens verified with the old one are
/// dropped with it.
pub(super) struct Keys {
    by_id: HashMap<String, Key>,
    /// The digest of the document that they came from.
    pub(super) digest: [u8; 32],
    pub(super) verified: VerifiedTokens,
}

impl Keys {
    /// Reads a JWKS. Entries for other algorithms than the accepted two are left out.
    ///
    /// # Errors
    /// When it is not a JWKS, or has no usable key. The text contains nothing of the document.
    pub(super) fn parse(document: &[u8]) -> Result<Self, &'static str> {
        let listed: JwksDocument =
            serde_json::from_slice(document).map_err(|_| "the document is not a JWKS")?;
        if listed.keys.len() > MAX_KEYS {
            return Err("the JWKS has more than 100 keys");
        }
        let mut by_id = HashMap::new();
        for entry in &listed.keys {
            if let (Some(id), Some(key)) = (&entry.kid, entry.usable()) {
                by_id.entry(id.clone()).or_insert(key);
            }
        }
        if by_id.is_empty() {
            return Err("the JWKS has no RS256 or ES256 key with an id");
        }
        let digest = super::cache::key(digest::digest(&digest::SHA256, document).as_ref());
        Ok(Self { by_id, digest, verified: VerifiedTokens::default() })
    }

    pub(super) fn contains(&self, key_id: &str) -> bool {
        self.by_id.contains_key(key_id)
    }

    /// The key that `token` names, if it is for the token's algorithm.
    pub(super) fn find(&self, token: &Token<'_>) -> Result<&ParsedPublicKey, TokenError> {
        let key = self.by_id.get(&token.key_id).ok_or(TokenError::UnknownKey)?;
        if key.algorithm == token.algorithm { Ok(&key.public) } else { Err(TokenError::Algorithm) }
    }
}

impl JwkEntry {
    fn usable(&self) -> Option<Key> {
        if self.r#use.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let named = self.alg.as_deref();
        match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", _) if named.is_none_or(|alg| alg == "RS256") => {
                self.rsa().map(|public| Key { algorithm: Algorithm::Rs256, public })
            }
            ("EC", Some("P-256")) if named.is_none_or(|alg| alg == "ES256") => {
                self.p256().map(|public| Key { algorithm: Algorithm::Es256, public })
            }
            _ => None,
        }
    }

    fn rsa(&self) -> Option<ParsedPublicKey> {
        let (n, e) = (number(self.n.as_ref()?)?, number(self.e.as_ref()?)?);
        let components = PublicKeyComponents { n: &n, e: &e };
        let parsed = || components.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256).ok();
        RSA_BYTES.contains(&n.len()).then(parsed)?
    }

    fn p256(&self) -> Option<ParsedPublicKey> {
        let (x, y) = (bytes(self.x.as_ref()?)?, bytes(self.y.as_ref()?)?);
        let uncompressed = [&[4], x.as_slice(), y.as_slice()].concat();
        let parsed = || ParsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, &uncompressed).ok();
        (x.len() == 32 && y.len() == 32).then(parsed)?
    }
}

fn bytes(text: &String) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// Some issuers write a leading sign byte, which does not belong to the number.
fn number(text: &String) -> Option<Vec<u8>> {
    let bytes = bytes(text)?;
    let leading = bytes.iter().take_while(|byte| **byte == 0).count();
    Some(bytes[leading..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: &str, expect: &str) {
        let refused = Keys::parse(document.as_bytes()).err().unwrap_or_default();
        assert!(refused.contains(expect), "{document}: {refused:?}");
    }

    #[test]
    fn a_document_without_a_usable_key_is_refused() {
        check("", "is not a JWKS");
        check("<html>", "is not a JWKS");
        check(r#"{"keys":{}}"#, "is not a JWKS");
        check(r#"{"keys":[]}"#, "no RS256 or ES256 key");
        let short = "A".repeat(171);
        for entry in [
            r#"{"kty":"oct","kid":"a","k":"c2VjcmV0","alg":"HS256"}"#.to_owned(),
            r#"{"kty":"EC","crv":"P-256","kid":"a","x":"AA","y":"AA"}"#.to_owned(),
            r#"{"kty":"EC","crv":"P-384","kid":"a","x":"AA","y":"AA"}"#.to_owned(),
            format!(r#"{{"kty":"RSA","kid":"a","n":"{short}","e":"AQAB"}}"#),
            r#"{"kty":"RSA","kid":"a"}"#.to_owned(),
        ] {
            check(&format!(r#"{{"keys":[{entry}]}}"#), "no RS256 or ES256 key");
        }
        let many = vec![r#"{"kty":"oct"}"#; 101].join(",");
        check(&format!(r#"{{"keys":[{many}]}}"#), "more than 100");
    }
}
