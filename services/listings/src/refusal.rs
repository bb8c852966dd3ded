//! Why an operation was refused, for every transport.

use crate::store::{StoreError, WriteError};
use crate::write::WriteRefusal;

/// Why an operation was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request is invalid.
    #[error("{0}")]
    Invalid(String),
    /// It does not exist or was deleted.
    #[error("no {0} has the id {1}")]
    NotFound(&'static str, i64),
    /// The caller is not allowed to do this.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The current state does not allow it.
    #[error("{0}")]
    Precondition(String),
    /// Too many views wait to be written.
    #[error("too many views wait to be written; try again")]
    Full,
    /// The store ended a search that took too long.
    #[error("the search took too long; narrow it by a category, an owner or more words")]
    TooBroad,
    /// The store did not answer.
    #[error("the store does not answer; try again")]
    Unavailable,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "an operation failed");
        match error {
            StoreError::Rejected(_) => {
                Self::Invalid("the database rejects what the request contains".to_owned())
            }
            _ => Self::Unavailable,
        }
    }
}

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Store(error) => error.into(),
            WriteError::Refused(WriteRefusal::NotFound(what, id)) => Self::NotFound(what, id),
            WriteError::Refused(WriteRefusal::NotOwner) => {
                Self::Forbidden("the listing belongs to another user")
            }
            WriteError::Refused(WriteRefusal::NotStorefrontOwner) => {
                Self::Forbidden("the storefront belongs to another user")
            }
            WriteError::Refused(WriteRefusal::Precondition(why)) => Self::Precondition(why),
        }
    }
}
