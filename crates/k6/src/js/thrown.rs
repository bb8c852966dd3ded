//! What was thrown.

/// An exception has been thrown and not caught yet: the runtime has it.
#[derive(Debug)]
pub(crate) struct Thrown;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exception {
    /// Such as `TypeError: x is not a function`.
    pub message: String,
    /// A line a call, the innermost first; empty where something else than an error was thrown.
    pub stack: String,
}
