//! Callers and their rights. This module is independent of the transport.

use std::collections::BTreeSet;

use http::{HeaderMap, header};
use kit::auth::{Denied, Verifier, authenticate, single_header};

use crate::operations::Refusal;

/// How callers are identified.
#[derive(Debug)]
pub enum Identity {
    /// Not at all: the user id in a request is trusted. For tests, and behind a proxy that verifies callers.
    Unverified,
    /// By bearer tokens; the subject is a user id or the name of an administrator.
    Tokens {
        /// Verifies the tokens.
        verifier: Box<Verifier>,
        /// Subjects with administrator rights.
        admins: BTreeSet<String>,
    },
}

/// The caller of an rpc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Not identified; may act as any user.
    Unverified,
    /// A user.
    User(i64),
    /// An administrator, by name.
    Admin(String),
}

impl Identity {
    /// The caller, from the metadata of a call.
    ///
    /// # Errors
    /// When a valid token is required and missing.
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let Self::Tokens { verifier, admins } = self else { return Ok(Caller::Unverified) };
        let missing = Denied::Unauthenticated("a bearer token is required");
        let authorization = single_header(headers, header::AUTHORIZATION.as_str())?.ok_or(missing)?;
        let claims = authenticate(verifier, authorization).await?;
        if admins.contains(&claims.subject) {
            return Ok(Caller::Admin(claims.subject.clone()));
        }
        let user = claims.subject.parse().ok().filter(|id: &i64| *id > 0);
        user.map(Caller::User).ok_or(Denied::Unauthenticated("the token's subject is not a user id"))
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

impl Caller {
    /// Whether the caller may act as this user.
    ///
    /// # Errors
    /// When the caller is another user.
    pub fn require_user(&self, user_id: i64) -> Result<(), Refusal> {
        match self {
            Self::User(id) if *id != user_id => Err(Refusal::Forbidden("the token belongs to another user")),
            _ => Ok(()),
        }
    }

    /// Whether the caller has administrator rights.
    ///
    /// # Errors
    /// When the caller is a user.
    pub fn require_admin(&self) -> Result<(), Refusal> {
        match self {
            Self::User(_) => Err(Refusal::Forbidden("only administrators may do this")),
            _ => Ok(()),
        }
    }

    /// The user whose products alone the caller may change; `None` when there is no such restriction.
    #[must_use]
    pub fn owner(&self) -> Option<i64> {
        match self {
            Self::User(id) => Some(*id),
            _ => None,
        }
    }
}
