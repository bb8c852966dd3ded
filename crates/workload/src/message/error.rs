//! What can be wrong with a description of gRPC services.

/// What is wrong with a description, or with a message or call that uses it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub String);
