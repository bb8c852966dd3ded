//! Who calls, and for whom they may speak. It must know no transport.

use crate::operations::Refusal;
use http::{HeaderMap, header};
use kit::auth::{Denied, Verifier, authenticate, single_header};
use std::collections::BTreeSet;

/// How callers are known.
#[derive(Debug)]
pub enum Identity {
    /// Not at all: whoever calls is believed to be whom they name. For tests, and behind somebody who checks.
    Believed,
    /// By bearer tokens whose subject is a user's id, or the name of an administrator.
    Tokens {
        /// Verifies them.
        verifier: Box<Verifier>,
        /// Subjects who may do everything.
        admins: BTreeSet<String>,
    },
}

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// Nobody asked.
    Anyone,
    /// A user.
    User(i64),
    /// Somebody who may do everything, by name.
    Admin(String),
}

impl Identity {
    /// Who calls, by the metadata of a call.
    ///
    /// # Errors
    /// When a token is needed and there is none that is believed.
    pub async fn of_headers(&self, headers: &HeaderMap) -> Result<Caller, Denied> {
        let Self::Tokens { verifier, admins } = self else { return Ok(Caller::Anyone) };
        let missing = Denied::Unauthenticated("a bearer token must name the caller");
        let authorization = single_header(headers, header::AUTHORIZATION.as_str())?.ok_or(missing)?;
        let claims = authenticate(verifier, authorization).await?;
        if admins.contains(&claims.subject) {
            return Ok(Caller::Admin(claims.subject.clone()));
        }
        let user = claims.subject.parse().ok().filter(|id: &i64| *id > 0);
        user.map(Caller::User).ok_or(Denied::Unauthenticated("the token's subject is no user's id"))
    }

    /// Returns once everything is there that is needed to know who calls.
    pub async fn ready(&self) {
        if let Self::Tokens { verifier, .. } = self {
            verifier.ready().await;
        }
    }

    /// Whether it can be known now who calls.
    ///
    /// # Errors
    /// Says why not.
    pub fn probe(&self) -> Result<(), String> {
        match self {
            Self::Believed => Ok(()),
            Self::Tokens { verifier, .. } => verifier.probe(),
        }
    }
}

impl Caller {
    /// Whether the caller may act as this user.
    ///
    /// # Errors
    /// When they are somebody else.
    pub fn speak_for(&self, user_id: i64) -> Result<(), Refusal> {
        match self {
            Self::User(id) if *id != user_id => Err(Refusal::Forbidden("the token is another user's")),
            _ => Ok(()),
        }
    }

    /// Whether the caller may do what no user may.
    ///
    /// # Errors
    /// When they are a user.
    pub fn administrate(&self) -> Result<(), Refusal> {
        match self {
            Self::User(_) => Err(Refusal::Forbidden("only administrators may")),
            _ => Ok(()),
        }
    }

    /// The user whose products alone may be touched; `None` for those who may touch all.
    #[must_use]
    pub fn owner(&self) -> Option<i64> {
        match self {
            Self::User(id) => Some(*id),
            _ => None,
        }
    }
}
