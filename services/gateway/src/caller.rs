//! Who calls, and for which devices the caller acts. This module is independent of the transport.

use std::sync::Arc;

use axum::http::HeaderMap;
use kit::auth::{Claims, Credential, Denied, Identity, Role};

/// The caller of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    role: Role,
    claims: Option<Arc<Claims>>,
}

impl Caller {
    /// A caller who may do everything.
    pub const TRUSTED: Self = Self { role: Role::Admin, claims: None };

    /// The caller, from a request's headers. The subject of a token is a device's id, or the name of a service or an
    /// administrator.
    ///
    /// # Errors
    /// When a valid token is required and missing.
    pub async fn authenticate(identity: &Identity, headers: &HeaderMap) -> Result<Self, Denied> {
        match identity.credential(headers).await? {
            Credential::Unverified => Ok(Self::TRUSTED),
            Credential::Missing => Err(Denied::Unauthenticated("a bearer token is required")),
            Credential::Token { role, claims } => Ok(Self { role, claims: Some(claims) }),
        }
    }

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
