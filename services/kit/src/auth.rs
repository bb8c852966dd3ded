//! Verification of bearer tokens: JWTs signed by RS256 or ES256 with a key of a JWKS, and no others.
//!
//! A token's claims are used only after its signature was verified with a key that fits its algorithm. No token and no
//! claim may ever reach a log or an error. Start reading at [`Verifier::verify`].
//!
//! The crate `jsonwebtoken` (11.1) was tried in its place. Of the 52 cases of the tests here it decides 8 otherwise: it
//! accepts a list as `iss`, an empty `sub`, an `iat` that is malformed or in the future, an `exp` that is past by just the
//! skew, and `crit`; the choice of a key for a token without `kid` and the namespace would still be ours.

mod bearer;
mod cache;
mod claims;
mod identity;
mod jws;
mod key_ring;
mod keys;
mod roles;
mod settings;
mod source;

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::task::JoinSet;

use crate::clock::UtcMs;
use crate::metrics::Metrics;
pub use bearer::{Denied, authenticate, single_header};
pub use claims::{Claims, Policy};
pub use identity::{Credential, Identity};
use jws::Token;
use key_ring::{FetchCounters, KeyRing};
pub use roles::{Role, Roles};
pub use settings::Settings;

/// A token has one or two thousand characters; a text that is far longer is no token.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

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
    /// It has expired.
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

    /// The outcome in the metrics.
    fn label(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::Forged => "forged",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Namespace => "namespace",
            Self::NoKeys => "no_keys",
            Self::Busy => "busy",
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

impl std::error::Error for TokenError {}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: &'static str,
}

/// Verifies tokens. It refreshes their keys for as long as it exists.
pub struct Verifier {
    keys: Arc<KeyRing>,
    policy: Policy,
    verified: Counter,
    remembered: Counter,
    refused: Family<OutcomeLabel, Counter>,
    _refresher: JoinSet<()>,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl Verifier {
    /// Begins to fetch the keys; [`Verifier::ready`] returns when there are some. Must be called inside a runtime.
    #[must_use]
    pub fn start(settings: Settings, metrics: &Metrics) -> Self {
        let outcomes = Family::<OutcomeLabel, Counter>::default();
        let fetches = Family::<OutcomeLabel, Counter>::default();
        metrics.register(|registry| {
            registry.register("tokens", "Bearer tokens judged, by outcome", outcomes.clone());
            registry.register(
                "key_fetches",
                "Times the token keys were fetched, by outcome",
                fetches.clone(),
            );
        });
        let counter = |family: &Family<OutcomeLabel, Counter>, outcome| {
            family.get_or_create_owned(&OutcomeLabel { outcome })
        };
        let fetches = FetchCounters { ok: counter(&fetches, "ok"), failed: counter(&fetches, "failed") };
        let keys = Arc::new(KeyRing::new(settings.source, settings.max_key_age, fetches));
        let mut refresher = JoinSet::new();
        refresher.spawn(Arc::clone(&keys).refresh(settings.refresh));
        Self {
            keys,
            policy: settings.policy,
            verified: counter(&outcomes, "verified"),
            remembered: counter(&outcomes, "remembered"),
            refused: outcomes,
            _refresher: refresher,
        }
    }

    /// Returns once there are keys.
    pub async fn ready(&self) {
        self.keys.ready().await;
    }

    /// Whether tokens can be verified now.
    ///
    /// # Errors
    /// The reason why not.
    pub fn probe(&self) -> Result<(), String> {
        self.keys.probe()
    }

    /// The claims of `token`.
    ///
    /// A token that was verified before with the current keys is recognised by its digest.
    ///
    /// # Errors
    /// When the token is refused, or cannot be verified now.
    pub async fn verify(&self, token: &str) -> Result<Arc<Claims>, TokenError> {
        let decided = self.decide(token, UtcMs::now()).await;
        if let Err(error) = decided {
            self.refused.get_or_create(&OutcomeLabel { outcome: error.label() }).inc();
        }
        decided
    }

    async fn decide(&self, text: &str, now: UtcMs) -> Result<Arc<Claims>, TokenError> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let keys = self.keys.current()?;
        let digest = cache::key(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        if let Some(claims) = keys.verified.find(&digest) {
            self.policy.in_time(&claims, now)?;
            self.remembered.inc();
            return Ok(claims);
        }
        let token = Token::parse(text)?;
        let keys = if keys.contains(&token.key_id) { keys } else { self.keys.refetched(&keys).await? };
        keys.find(&token)?
            .verify_sig(token.signed.as_bytes(), &token.signature)
            .map_err(|_| TokenError::Forged)?;
        let claims = Arc::new(self.policy.read(&token.payload()?, now)?);
        keys.verified.insert(digest, Arc::clone(&claims));
        self.verified.inc();
        Ok(claims)
    }
}
