//! What can be wrong with a description of gRPC services.

/// What is wrong with a description, or with a message or call that uses it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(pub String);

impl SchemaError {
    /// A compiler error with its place in the file, which only its debug form contains.
    pub(super) fn of_compiler(error: &protox::Error) -> SchemaError {
        let text = format!("{error:?}");
        SchemaError(text.lines().next().unwrap_or_default().to_owned())
    }
}
