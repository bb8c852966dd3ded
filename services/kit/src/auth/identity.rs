//! How a service identifies its callers: not at all, or by bearer tokens whose subjects have roles.

use std::sync::Arc;

use axum::http::{HeaderMap, header};

use super::{Claims, Denied, Role, Roles, Settings, Verifier, authenticate, single_header};
use crate::metrics::Metrics;

/// Identifies callers.
#[derive(Debug)]
pub struct Identity {
    /// `None`: callers are not verified.
    tokens: Option<Verifier>,
    roles: Roles,
}

/// What a request says about its caller.
#[derive(Debug, Clone)]
pub enum Credential {
    /// Nothing is asked: callers are not verified.
    Unverified,
    /// The request has no token.
    Missing,
    /// A token that was verified.
    Token {
        /// The role of its subject.
        role: Role,
        /// What it contains.
        claims: Arc<Claims>,
    },
}

impl Identity {
    /// Identifies callers by bearer tokens if there are settings for them. Must be called inside a runtime.
    #[must_use]
    pub fn start(tokens: Option<Settings>, roles: Roles, metrics: &Metrics) -> Self {
        Self { tokens: tokens.map(|tokens| Verifier::start(tokens, metrics)), roles }
    }

    /// The credential among a request's headers, or among a call's metadata (as headers).
    ///
    /// # Errors
    /// When there is a token that is refused or cannot be verified now, or more than one.
    pub async fn credential(&self, headers: &HeaderMap) -> Result<Credential, Denied> {
        let Some(tokens) = &self.tokens else { return Ok(Credential::Unverified) };
        let authorization = single_header(headers, header::AUTHORIZATION.as_str())?;
        let Some(authorization) = authorization else { return Ok(Credential::Missing) };
        let claims = authenticate(tokens, authorization).await?;
        Ok(Credential::Token { role: self.roles.role(&claims.subject), claims })
    }

    /// Returns when callers can be identified.
    pub async fn ready(&self) {
        if let Some(tokens) = &self.tokens {
            tokens.ready().await;
        }
    }

    /// Whether callers can be identified now.
    ///
    /// # Errors
    /// The reason why not.
    pub fn probe(&self) -> Result<(), String> {
        self.tokens.as_ref().map_or(Ok(()), Verifier::probe)
    }
}
