//! Verification of bearer tokens: JWTs signed by RS256 or ES256 with a key of a JWKS, and no others.
//!
//! A token's claims are used only after its signature was verified with a key that fits its algorithm. No token and no
//! claim may ever reach a log or an error. Start reading at [`Verifier::verify`].
//!
//! The crate `jsonwebtoken` (11.1) was tried in its place. Of the 52 cases of the tests here it decides 8 otherwise: it
//! accepts a list as `iss`, an empty `sub`, an `iat` that is malformed or in the future, an `exp` that is past by just the
//! skew, and `crit`; the choice of a key for a token without `kid` and the namespace would still be ours.

mod bearer;
mod identity;
mod roles;
#[cfg_attr(not(feature = "full"), path = "auth/without_tokens.rs")]
mod tokens;

use std::fmt;

use crate::clock::UtcMs;
pub use bearer::{Denied, authenticate, single_header};
pub use identity::{Credential, Identity};
pub use roles::{Role, Roles};
pub use tokens::{Settings, Verifier};

/// The claims that services use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// `sub`: the user. Not empty; the service decides whether it is a valid user id.
    pub subject: String,
    /// `exp`: the token expires at this instant plus the skew.
    pub expires_at: UtcMs,
}

/// Why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenError {
    /// Longer than any token that is accepted.
    TooLong,
    /// Not three parts of base64url with JSON in the first two, or without a required member.
    Malformed,
    /// Neither RS256 nor ES256, or not the algorithm of its key.
    Algorithm,
    /// No key has the id that the token names.
    UnknownKey,
    /// The signature does not match the key.
    Forged,
    Expired,
    /// It is not valid yet, or was issued in the future.
    NotYetValid,
    /// Its issuer is not the expected one.
    Issuer,
    /// It is meant for another audience.
    Audience,
    /// It is of another namespace: the caller is known, and has no access here.
    Namespace,
    /// There are no keys, or they are too old.
    NoKeys,
    /// Too many tokens are waiting for keys.
    Busy,
}

impl TokenError {
    /// The reason for the client. It contains nothing of the token.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::TooLong => "the token is too long",
            Self::Malformed => "the token is malformed",
            Self::Algorithm => "the token's algorithm is not accepted",
            Self::UnknownKey => "the token's key is unknown",
            Self::Forged => "the token's signature is wrong",
            Self::Expired => "the token has expired",
            Self::NotYetValid => "the token is not valid yet",
            Self::Issuer => "the token's issuer is not accepted",
            Self::Audience => "the token is for another audience",
            Self::Namespace => "the token is of another namespace",
            Self::NoKeys | Self::Busy => "tokens cannot be verified now; try again",
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for TokenError {}
