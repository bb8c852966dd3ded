//! The verifier of tokens, with the keys of an issuer.

mod cache;
mod claims;
mod jws;
mod key_ring;
mod keys;
mod settings;
mod source;

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::digest;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::task::JoinSet;

use super::{Claims, TokenError};
use crate::clock::UtcMs;
use crate::metrics::Metrics;
use claims::Policy;
use jws::Token;
use key_ring::{FetchCounters, KeyRing};
pub use settings::Settings;

/// A token has one or two thousand characters; a text that is far longer is not a token.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

impl TokenError {
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
        if settings.source.is_in_clear_text() {
            tracing::warn!(
                "AUTH_JWKS_URL is http: a process that can change traffic to the key server can sign tokens; use https or file"
            );
        }
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
