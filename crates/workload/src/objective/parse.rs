//! Reads `p95(initialize, phase = gameplay) < 50ms`.

use super::Objective;

/// What is wrong with an objective; shows its text with a caret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ObjectiveError {
    /// What is wrong and what to do, in words.
    pub message: String,
    /// The byte of the objective's text at which it goes wrong.
    pub at: usize,
    /// The objective's text.
    pub source_text: String,
}

/// Read an objective.
pub fn parse(_name: &str, _text: &str) -> Result<Objective, ObjectiveError> {
    todo!()
}
