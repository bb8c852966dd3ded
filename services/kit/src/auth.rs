//! Who a bearer token speaks for: JWTs signed by RS256 or ES256 with a key of a JWKS, and nothing else.
//!
//! What a token says is believed only after its signature was found good with a key that fits its algorithm. No token and
//! no claim may ever reach a log or an error. Start reading at [`Verifier::verify`].

mod bearer;
mod cache;
mod claims;
mod jws;
mod keys;
mod ring;
mod settings;
mod source;

pub use bearer::{Denied, authenticate, single_header};
pub use claims::{Claims, Policy};
pub use settings::Settings;

use crate::clock::UtcMs;
use crate::metrics::Metrics;
use aws_lc_rs::digest;
use jws::Token;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use ring::Ring;
use std::fmt;
use std::sync::Arc;
use tokio::task::JoinSet;

/// A token has one or two thousand characters; what is far longer is none of ours.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Why a token is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenError {
    /// Longer than any token of ours.
    TooLong,
    /// Not three parts of base64url with JSON in the first two, or without what must be in them.
    Malformed,
    /// Neither RS256 nor ES256, or not what its key is for.
    Algorithm,
    /// No key has the id that it names.
    UnknownKey,
    /// The signature is not that of the key.
    Forged,
    /// Its time is over.
    Expired,
    /// Its time has not begun, or it was issued in the future.
    NotYetValid,
    /// From somebody else than the issuer expected.
    Issuer,
    /// For somebody else.
    Audience,
    /// Of another namespace: who asks is known, and has no business here.
    Namespace,
    /// There are no keys to verify it with, or they are too old.
    NoKeys,
    /// Too many tokens wait for keys already.
    Busy,
}

impl TokenError {
    /// The reason for whoever sent the token. It holds nothing of the token.
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

    fn word(self) -> &'static str {
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
struct Outcome {
    outcome: &'static str,
}

/// Verifies tokens, and keeps the keys for that up to date for as long as it lives.
pub struct Verifier {
    ring: Arc<Ring>,
    policy: Policy,
    believed: [Counter; 2],
    refused: Family<Outcome, Counter>,
    _refresher: JoinSet<()>,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl Verifier {
    /// Begins to fetch the keys; [`Verifier::ready`] returns when they are there. Must be called inside a runtime.
    #[must_use]
    pub fn start(settings: Settings, metrics: &Metrics) -> Self {
        let outcomes = Family::<Outcome, Counter>::default();
        let fetches = Family::<Outcome, Counter>::default();
        metrics.register(|registry| {
            registry.register("tokens", "Bearer tokens judged, by outcome", outcomes.clone());
            registry.register(
                "key_fetches",
                "Times the token keys were fetched, by outcome",
                fetches.clone(),
            );
        });
        let [fetched, not_fetched] =
            ["ok", "failed"].map(|outcome| fetches.get_or_create_owned(&Outcome { outcome }));
        let believed =
            ["verified", "remembered"].map(|outcome| outcomes.get_or_create_owned(&Outcome { outcome }));
        let ring = Arc::new(Ring::new(settings.source, settings.keep, [fetched, not_fetched]));
        let mut refresher = JoinSet::new();
        refresher.spawn(Arc::clone(&ring).refresh(settings.refresh));
        Self { ring, policy: settings.policy, believed, refused: outcomes, _refresher: refresher }
    }

    /// Returns once there are keys.
    pub async fn ready(&self) {
        self.ring.ready().await;
    }

    /// Whether tokens can be verified now.
    ///
    /// # Errors
    /// Says why not.
    pub fn probe(&self) -> Result<(), String> {
        self.ring.probe()
    }

    /// What `token` says of its bearer.
    ///
    /// A token that was verified before, with the keys that there are now, is recognised by its digest.
    ///
    /// # Errors
    /// When it is not to be believed, or cannot be verified now.
    pub async fn verify(&self, token: &str) -> Result<Arc<Claims>, TokenError> {
        let decided = self.decide(token, UtcMs::now()).await;
        if let Err(error) = decided {
            self.refused.get_or_create(&Outcome { outcome: error.word() }).inc();
        }
        decided
    }

    async fn decide(&self, text: &str, now: UtcMs) -> Result<Arc<Claims>, TokenError> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let keys = self.ring.current()?;
        let digest = cache::key(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        if let Some(claims) = keys.verified.find(&digest) {
            self.policy.in_time(&claims, now)?;
            self.believed[1].inc();
            return Ok(claims);
        }
        let token = Token::parse(text)?;
        let keys = if keys.knows(&token.key_id) { keys } else { self.ring.refetched(&keys).await? };
        keys.find(&token)?
            .verify_sig(token.signed.as_bytes(), &token.signature)
            .map_err(|_| TokenError::Forged)?;
        let claims = Arc::new(self.policy.read(&token.payload()?, now)?);
        keys.verified.keep(digest, Arc::clone(&claims));
        self.believed[0].inc();
        Ok(claims)
    }
}
