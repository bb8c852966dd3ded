//! A token's outer form: header, payload and signature, each in base64url.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::TokenError;

/// The algorithms that are accepted. `none` and the symmetric ones are not among them, so that no public key can be
/// used as a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Algorithm {
    /// RSA, PKCS #1 v1.5, SHA-256.
    Rs256,
    /// ECDSA, P-256, SHA-256.
    Es256,
}

/// How the token is to be verified. `jwk`, `jku`, `x5u` and similar members are ignored: keys come from the configured
/// source only.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    /// Extensions that a reader must support; none are supported.
    crit: Option<IgnoredAny>,
}

/// A token whose signature is not verified yet: its contents must not be used.
#[derive(Debug)]
pub(super) struct Token<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) key_id: String,
    /// The text that is signed.
    pub(super) signed: &'a str,
    pub(super) signature: Vec<u8>,
    payload: &'a str,
}

impl<'a> Token<'a> {
    /// Splits `text` into its parts.
    pub(super) fn parse(text: &'a str) -> Result<Self, TokenError> {
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        let header: Header = serde_json::from_slice(&decode(header)?).map_err(|_| TokenError::Malformed)?;
        let algorithm = match header.alg.as_str() {
            _ if header.crit.is_some() => return Err(TokenError::Malformed),
            "RS256" => Algorithm::Rs256,
            "ES256" => Algorithm::Es256,
            _ => return Err(TokenError::Algorithm),
        };
        let key_id = header.kid.ok_or(TokenError::UnknownKey)?;
        Ok(Self { algorithm, key_id, signed, signature: decode(signature)?, payload })
    }

    /// The claims' JSON.
    pub(super) fn payload(&self) -> Result<Vec<u8>, TokenError> {
        decode(self.payload)
    }
}

fn decode(part: &str) -> Result<Vec<u8>, TokenError> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| TokenError::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(header: &str, expect: Result<(Algorithm, &str), TokenError>) {
        let text = format!("{}.e30.AAAA", URL_SAFE_NO_PAD.encode(header));
        let parsed = Token::parse(&text).map(|token| (token.algorithm, token.key_id));
        assert_eq!(parsed, expect.map(|(algorithm, id)| (algorithm, id.to_owned())), "{header}");
    }

    #[test]
    fn only_two_algorithms_are_accepted() {
        check(r#"{"alg":"RS256","kid":"a","typ":"JWT"}"#, Ok((Algorithm::Rs256, "a")));
        check(r#"{"alg":"ES256","kid":"b"}"#, Ok((Algorithm::Es256, "b")));
        for alg in ["none", "None", "HS256", "RS384", "PS256", "ES384", "EdDSA", "", "rs256"] {
            check(&format!(r#"{{"alg":"{alg}","kid":"a"}}"#), Err(TokenError::Algorithm));
        }
    }

    #[test]
    fn an_ambiguous_token_is_malformed() {
        check(r#"{"alg":"RS256","alg":"none","kid":"a"}"#, Err(TokenError::Malformed));
        check(r#"{"alg":"RS256","kid":"a","crit":["exp"]}"#, Err(TokenError::Malformed));
        check(r#"{"alg":1,"kid":"a"}"#, Err(TokenError::Malformed));
        check(r#"{"kid":"a"}"#, Err(TokenError::Malformed));
        check(r#"{"alg":"RS256"}"#, Err(TokenError::UnknownKey));
        for text in ["", ".", "..", "e30.e30", "e30.e30.", "a.b.c.d", "e30=.e30.AAAA", "e30.e30.AA AA"] {
            assert!(Token::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,200}") {
            let _either = Token::parse(&text);
        }
    }
}
