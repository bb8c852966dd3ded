//! Which players' requests are worked on, the same for every transport: within the limit on all, authenticated, and
//! within the limit on their user's.

use std::sync::Arc;

use http::HeaderMap;
use kit::auth::Denied;
use kit::caller_limit::CallerLimit;
use kit::limit::{Limit, Permit};

use crate::identity::Identity;
use crate::operations::OVERLOADED_MESSAGE;
use crate::refusal::Code;
use crate::user::{UserId, UserPlace};

/// Decides it.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Requests in flight, of all users.
    pub limit: Limit,
    /// Requests in flight of each user.
    pub users: CallerLimit<UserId>,
    /// Authenticates callers.
    pub identity: Arc<Identity>,
}

/// A request that is admitted, until this is dropped.
#[derive(Debug)]
pub struct Admitted {
    /// The place of the user who sent it.
    pub place: UserPlace,
    _slot: Permit,
}

/// Why a request is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAdmitted {
    /// Too many requests are in flight.
    Overloaded,
    /// Too many requests of its user are.
    UserBusy,
    /// Its caller is not authenticated, or not allowed.
    Denied(Denied),
}

impl Admission {
    /// Admits a request with these headers, or metadata as headers.
    ///
    /// # Errors
    /// The reason why it is not admitted.
    pub async fn admit(&self, headers: &HeaderMap) -> Result<Admitted, NotAdmitted> {
        let slot = self.limit.enter().ok_or(NotAdmitted::Overloaded)?;
        let user = self.identity.of_headers(headers).await.map_err(NotAdmitted::Denied)?;
        let place = self.users.enter(&user).ok_or(NotAdmitted::UserBusy)?;
        Ok(Admitted { place, _slot: slot })
    }
}

impl NotAdmitted {
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Overloaded => Code::Overloaded,
            Self::UserBusy => Code::UserBusy,
            Self::Denied(denied) => denied.into(),
        }
    }

    /// The reason, for the caller.
    #[must_use]
    pub fn message(self) -> String {
        match self {
            Self::Overloaded => OVERLOADED_MESSAGE.to_owned(),
            Self::UserBusy => "too many requests of this user at once; try again".to_owned(),
            Self::Denied(denied) => denied.to_string(),
        }
    }
}
