//! Who calls, and for which devices the caller acts. This module is independent of the transport.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use kit::auth::{Claims, Denied, Role, Roles, Verifier, authenticate, single_header};

/// How callers are identified.
#[derive(Debug)]
pub enum Identity {
    /// Not at all: every caller may do everything.
    Unverified,
    /// By bearer tokens; the subject is a device's id, or the name of a service or an administrator.
    Tokens {
        /// Verifies the tokens.
        verifier: Box<Verifier>,
        /// The subjects that are no devices.
        roles: Roles,
    },
}

/// The caller of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    role: Role,
    claims: Option<Arc<Claims>>,
}

impl Identity {
    /// The caller, from a request's headers.
    ///
    /// # Errors
    /// When a valid token is required and missing.
    pub async fn identify(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let Self::Tokens { verifier, roles } = self else { return Ok(Caller::TRUSTED) };
        let missing = Denied::Unauthenticated("a bearer token is required");
        let authorization = single_header(headers, header::AUTHORIZATION.as_str())?.ok_or(missing)?;
        let claims = authenticate(verifier, authorization).await?;
        Ok(Caller { role: roles.of(&claims.subject), claims: Some(claims) })
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
    /// A caller who may do everything.
    pub const TRUSTED: Self = Self { role: Role::Admin, claims: None };

    /// Whether the caller may do what this role may.
    ///
    /// # Errors
    /// When its own role is a lower one.
    pub fn require(&self, role: Role) -> Result<(), Denied> {
        if self.role >= role { Ok(()) } else { Err(Denied::Forbidden("the token has not the role for this")) }
    }

    /// The only device that the caller acts for; `None` when it acts for all of them.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        let claims = self.claims.as_ref().filter(|_| self.role == Role::User)?;
        Some(&claims.subject)
    }

    /// Whether the caller acts for this device.
    ///
    /// # Errors
    /// When its token is another device's.
    pub fn require_device(&self, id: &str) -> Result<(), Denied> {
        match self.device() {
            Some(own) if own != id => Err(Denied::Forbidden(OTHER_DEVICE)),
            _ => Ok(()),
        }
    }
}

/// The error text of a request for a device that its token does not name.
pub const OTHER_DEVICE: &str = "the token is another device's";
