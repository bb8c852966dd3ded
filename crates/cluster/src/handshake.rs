//! Both sides prove that they know the run's token, without sending it: each makes an HMAC (RFC 2104, SHA-256) of both nonces,
//! one side's with another word before it than the other's, so that an answer cannot be sent back.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::hmac;
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};

use crate::ClusterError;

/// What the processes of a run know and no other. Not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// A token that could be guessed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token has at least {LEAST_CHARACTERS} characters, and this one {0}: draw one at random, as `openssl rand -hex 32` does"
)]
pub struct UnusableToken(usize);

const LEAST_CHARACTERS: usize = 16;
const RANDOM_BYTES: usize = 32;

/// Which side proves that it knows the token.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Side {
    Coordinator,
    Worker,
}

/// The nonces of both sides.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nonces<'a> {
    pub(crate) coordinator: &'a str,
    pub(crate) worker: &'a str,
}

impl Token {
    /// A token that was given.
    ///
    /// # Errors
    /// [`UnusableToken`] when it is too short.
    pub fn given(text: &str) -> Result<Token, UnusableToken> {
        let text = text.trim();
        let characters = text.chars().count();
        if characters < LEAST_CHARACTERS {
            Err(UnusableToken(characters))
        } else {
            Ok(Token(text.to_owned()))
        }
    }

    /// A token for one run, drawn at random.
    ///
    /// # Errors
    /// [`ClusterError::Tls`] when the system gives no random bytes.
    pub fn drawn() -> Result<Token, ClusterError> {
        nonce().map(Token)
    }

    /// The token itself, to hand it to a worker.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is the token, in a time that does not depend on where it differs.
    pub fn is(&self, text: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), text.as_bytes()).is_ok()
    }

    /// What this side sends.
    pub(crate) fn proof(&self, side: Side, nonces: Nonces<'_>) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        hex::encode(hmac::sign(&key, message(side, nonces).as_bytes()))
    }

    /// Whether what the other side sent proves that it knows the token.
    pub(crate) fn is_proof(&self, side: Side, nonces: Nonces<'_>, proof: &str) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        let Some(tag) = bytes_of(proof) else { return false };
        hmac::verify(&key, message(side, nonces).as_bytes(), &tag).is_ok()
    }
}

fn message(side: Side, nonces: Nonces<'_>) -> String {
    let side = match side {
        Side::Coordinator => "coordinator",
        Side::Worker => "worker",
    };
    format!("plimsoll {side} {} {}", nonces.coordinator, nonces.worker)
}

/// Random digits, used once.
pub(crate) fn nonce() -> Result<String, ClusterError> {
    let mut bytes = [0; RANDOM_BYTES];
    let drawn = SystemRandom::new().fill(&mut bytes);
    drawn.map_err(|_| ClusterError::Tls("the system gives no random bytes".to_owned()))?;
    Ok(hex::encode(bytes))
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_token_the_same_side_and_the_same_nonces_prove_anything() {
        let (token, other) = (Token::drawn().unwrap(), Token::drawn().unwrap());
        let nonces = Nonces { coordinator: "aa", worker: "bb" };
        let proof = token.proof(Side::Worker, nonces);
        assert!(token.is_proof(Side::Worker, nonces, &proof));
        assert!(!token.is_proof(Side::Coordinator, nonces, &proof));
        assert!(!other.is_proof(Side::Worker, nonces, &proof));
        assert!(!token.is_proof(Side::Worker, Nonces { worker: "bc", ..nonces }, &proof));
        for garbage in ["", "0", "zz", "é", &proof[1..]] {
            assert!(!token.is_proof(Side::Worker, nonces, garbage));
        }
    }

    #[test]
    fn a_short_token_is_refused_and_none_is_shown() {
        assert!(Token::given("secret").is_err());
        let token = Token::given(" a-token-of-twenty-one\n").unwrap();
        assert_eq!((token.text(), format!("{token:?}").as_str()), ("a-token-of-twenty-one", "Token"));
    }
}
