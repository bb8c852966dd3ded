//! Why a store did not answer: the same four reasons for every kind of store.

use std::sync::Arc;

/// Why the store did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// It is closed, or its writer has ended.
    #[error("the store is closed")]
    Closed,
    /// A commit took longer than the timeout; whether it happened is unknown.
    #[error("the store did not commit in time")]
    Slow,
    /// The database cannot be reached.
    #[error("the database cannot be reached: {0}")]
    Unreachable(Arc<str>),
    /// The database refused. The transaction was rolled back, unless the connection broke during its commit: then its
    /// outcome is unknown, and repeating the write is safe.
    #[error("the store failed: {0}")]
    Failed(Arc<str>),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.to_string().into())
    }
}
