//! What callers can do. Every rpc calls these and nothing else.

mod reads;
mod writes;

use crate::cache::Remembered;
use crate::store::{Store, StoreError, WriteError};
use crate::views::Views;
use crate::write::Refused;
use std::sync::Arc;

pub use reads::MAX_FAVORED_BY;

/// Why an operation was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What was asked for makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// There is no such thing, or it was deleted.
    #[error("no {0} has the id {1}")]
    NotFound(&'static str, i64),
    /// It is known who asks, and that they may not.
    #[error("{0}")]
    Forbidden(&'static str),
    /// What is there does not allow it.
    #[error("{0}")]
    Precondition(String),
    /// There is no room for more now.
    #[error("too much is waiting to be written; try again")]
    Full,
    /// The store did not answer.
    #[error("the store does not answer; try again")]
    Unavailable,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "an operation failed");
        Self::Unavailable
    }
}

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Store(error) => error.into(),
            WriteError::Refused(Refused::NotFound(what, id)) => Self::NotFound(what, id),
            WriteError::Refused(Refused::NotOwner) => Self::Forbidden("the listing belongs to somebody else"),
            WriteError::Refused(Refused::Precondition(why)) => Self::Precondition(why),
        }
    }
}

/// The operations on one store.
pub struct Operations {
    store: Arc<Store>,
    remembered: Remembered,
    views: Arc<Views>,
}

impl Operations {
    /// Operations on these.
    #[must_use]
    pub fn new(store: Arc<Store>, remembered: Remembered, views: Arc<Views>) -> Self {
        Self { store, remembered, views }
    }
}
