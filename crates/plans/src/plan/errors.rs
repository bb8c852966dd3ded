//! The errors of a plan, each with its place.

use std::fmt;

use evidence::visible;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanError {
    /// The file, as the user named it.
    pub file: String,
    /// The line, from 1; 0 for an error in the file as a whole.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what to do, as lines of visible characters.
    pub message: String,
}

impl PlanError {
    /// An error in `file` as a whole.
    pub(super) fn whole(file: &str, message: impl Into<String>) -> PlanError {
        PlanError {
            file: file.to_owned(),
            line: 0,
            column: 0,
            message: visible(&message.into()).into_owned(),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = visible(&self.file);
        match self.line {
            0 => write!(f, "{file}: {}", self.message),
            line => write!(f, "{file}:{line}:{}: {}", self.column, self.message),
        }
    }
}

/// All errors of a plan, in the order of the file, displayed as lines of visible characters. Never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PlanErrors(pub Vec<PlanError>);

impl fmt::Display for PlanErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}
