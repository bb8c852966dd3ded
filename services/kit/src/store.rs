//! Why a store did not answer: the same reasons for every kind of store.

use std::sync::Arc;

use crate::group_commit::GroupError;

/// The schema of a service: several services may share a database, each with steps of its own.
#[derive(Debug, Clone, Copy)]
pub struct Migrations {
    /// The service. Steps that were applied are recorded under this name.
    pub service: &'static str,
    /// A table that the first step creates: where it exists, steps that were recorded without a name are this service's.
    pub first_table: &'static str,
    /// Each brings the schema from the version of its index to the next.
    pub steps: &'static [&'static str],
}

/// Why the store did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// It is closed, or its writer has ended.
    #[error("the store is closed")]
    Closed,
    /// A commit took longer than the timeout; whether it happened is unknown.
    #[error("the store did not commit in time")]
    Slow,
    /// As many commands wait as may; it has begun nothing.
    #[error("too many commands wait for the store")]
    Full,
    /// The database cannot be reached.
    #[error("the database cannot be reached: {0}")]
    Unreachable(Arc<str>),
    /// The database refused. The transaction was rolled back, unless the connection broke during its commit: then its
    /// outcome is unknown, and repeating the write is safe.
    #[error("the store failed: {0}")]
    Failed(Arc<str>),
    /// The database ended a statement that took too long. The transaction was rolled back.
    #[error("the database ended a statement that took too long")]
    Ended,
    /// The database refused what a command writes, and will again. The transaction was rolled back.
    #[error("the store rejects the data: {0}")]
    Rejected(Arc<str>),
}

impl StoreError {
    /// Whether the database refused, and so has rolled the transaction back.
    #[must_use]
    pub fn is_rolled_back(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::Ended | Self::Rejected(_))
    }
}

impl GroupError for StoreError {
    fn is_of_one_command(&self) -> bool {
        matches!(self, Self::Rejected(_))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{ConstraintViolation, ParameterOutOfRange, TooBig, TypeMismatch};
        let of_the_data = [ConstraintViolation, ParameterOutOfRange, TooBig, TypeMismatch];
        let text = error.to_string().into();
        match error.sqlite_error_code() {
            Some(code) if of_the_data.contains(&code) => Self::Rejected(text),
            _ => Self::Failed(text),
        }
    }
}
