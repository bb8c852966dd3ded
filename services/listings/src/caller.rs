//! Callers and their rights.

use std::net::IpAddr;

use http::HeaderMap;
use kit::auth::{Credential, Denied, Identity, Role};

use crate::listing::{Listing, Visibility};
use crate::methods::Access;
use crate::refusal::Refusal;

/// The id of no user: users have ids above 0.
const NO_USER: i64 = 0;

/// The caller of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Caller {
    /// Not identified; may act as anyone.
    Unverified,
    /// Without a token where tokens are verified, from this network; may only read what everyone may see.
    Anonymous(Option<IpAddr>),
    /// A user, who may act for themselves.
    User(i64),
    /// A service, by name; may act for every user.
    Service(String),
    /// An administrator, by name; may also delete every listing.
    Admin(String),
}

impl Caller {
    /// The caller, from the metadata of a call (as headers), which came from this network. The subject of a token is a
    /// user's id, or the name of a service or an administrator.
    ///
    /// # Errors
    /// When a token is required and missing, or there is one that is not valid.
    pub async fn authenticate(
        identity: &Identity,
        metadata: &HeaderMap,
        network: Option<IpAddr>,
        access: Access,
    ) -> Result<Self, Denied> {
        let (role, claims) = match identity.credential(metadata).await? {
            Credential::Unverified => return Ok(Self::Unverified),
            Credential::Missing if access == Access::Public => return Ok(Self::Anonymous(network)),
            Credential::Missing => return Err(Denied::Unauthenticated("a bearer token is required")),
            Credential::Token { role, claims } => (role, claims),
        };
        let subject = &claims.subject;
        match role {
            Role::Admin => Ok(Self::Admin(subject.clone())),
            Role::Service => Ok(Self::Service(subject.clone())),
            Role::User => {
                let user = subject.parse().ok().filter(|id: &i64| *id > 0);
                user.map(Self::User).ok_or(Denied::Unauthenticated("the token's subject is not a user id"))
            }
        }
    }

    /// Whether the caller may act as this user.
    ///
    /// # Errors
    /// When the caller is another user.
    pub fn require_user(&self, user_id: i64) -> Result<(), Refusal> {
        match self.owner() {
            Some(id) if id != user_id => Err(Refusal::Forbidden("the token belongs to another user")),
            _ => Ok(()),
        }
    }

    /// Whether the caller may do what users may not.
    ///
    /// # Errors
    /// When the caller is a user.
    pub fn require_service(&self) -> Result<(), Refusal> {
        match self {
            Self::Anonymous(_) | Self::User(_) => Err(Refusal::Forbidden("only services may do this")),
            _ => Ok(()),
        }
    }

    /// Whether the caller has administrator rights.
    ///
    /// # Errors
    /// When the caller is a user or a service.
    pub fn require_admin(&self) -> Result<(), Refusal> {
        match self {
            Self::Unverified | Self::Admin(_) => Ok(()),
            _ => Err(Refusal::Forbidden("only administrators may do this")),
        }
    }

    /// The user whose listings and storefronts alone the caller may change; `None` when there is no such restriction.
    #[must_use]
    pub fn owner(&self) -> Option<i64> {
        match self {
            Self::User(id) => Some(*id),
            Self::Anonymous(_) => Some(NO_USER),
            Self::Unverified | Self::Service(_) | Self::Admin(_) => None,
        }
    }

    /// Whether the caller may see what belongs to `owner` alone.
    ///
    /// # Errors
    /// When it belongs to another user, or has no owner.
    pub fn require_owner(&self, owner: Option<i64>) -> Result<(), Refusal> {
        match self.owner() {
            Some(user) if owner != Some(user) => Err(Refusal::Forbidden("it belongs to another user")),
            _ => Ok(()),
        }
    }

    /// Whether the caller finds a listing by what it does not name alone: by words, filters, a stock-keeping unit.
    #[must_use]
    pub fn may_find(&self, listing: &Listing) -> bool {
        self.may_see(listing)
            && (listing.visibility == Visibility::Public
                || self.owner().is_none_or(|user| user == listing.user_id))
    }

    /// Whether the caller may see a listing.
    #[must_use]
    pub fn may_see(&self, listing: &Listing) -> bool {
        self.owner().is_none_or(|user| listing.is_visible_to(user))
    }
}
