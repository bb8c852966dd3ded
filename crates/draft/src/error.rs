//! What is wrong with a text that a plan is drafted of.

/// An error in a text: where it is, what is wrong, what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct DraftError {
    /// The file or the option, and the line, path or entry in it.
    pub place: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

impl DraftError {
    pub(crate) fn at(place: impl Into<String>, problem: impl Into<String>) -> DraftError {
        DraftError { place: place.into(), problem: problem.into() }
    }
}
