//! Identifies callers. This module is independent of the transport.

use http::{HeaderMap, header};
use kit::auth::{Denied, Role, Roles, Verifier, authenticate, single_header};

use crate::caller::Caller;

/// How callers are identified.
#[derive(Debug)]
pub enum Identity {
    /// Not at all: the user id in a request is trusted. For tests, and behind a proxy that verifies callers.
    Unverified,
    /// By bearer tokens; the subject is a user id, or the name of a service or an administrator.
    Tokens {
        /// Verifies the tokens.
        verifier: Box<Verifier>,
        /// The names of services and administrators.
        roles: Roles,
    },
}

impl Identity {
    /// The caller, from the metadata of a call.
    ///
    /// # Errors
    /// When a valid token is required and missing.
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let Self::Tokens { verifier, roles } = self else { return Ok(Caller::Unverified) };
        let missing = Denied::Unauthenticated("a bearer token is required");
        let authorization = single_header(headers, header::AUTHORIZATION.as_str())?.ok_or(missing)?;
        let claims = authenticate(verifier, authorization).await?;
        let subject = &claims.subject;
        match roles.of(subject) {
            Role::Admin => Ok(Caller::Admin(subject.clone())),
            Role::Service => Ok(Caller::Service(subject.clone())),
            Role::User => {
                let user = subject.parse().ok().filter(|id: &i64| *id > 0);
                user.map(Caller::User).ok_or(Denied::Unauthenticated("the token's subject is not a user id"))
            }
        }
    }

    /// Returns when callers can be identified.
    pub async fn ready(&self) {
        if let Self::Tokens { verifier, .. } = self {
            verifier.ready().await;
        }
    }

    /// Whether callers can be identified now.
    ///
    /// # Errors
    /// The reason why not.
    pub fn probe(&self) -> Result<(), String> {
        match self {
            Self::Unverified => Ok(()),
            Self::Tokens { verifier, .. } => verifier.probe(),
        }
    }
}
