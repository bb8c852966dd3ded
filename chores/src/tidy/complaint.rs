//! One thing a rule found: where, what is wrong, what to do instead.

use std::fmt;

/// Ordered by place, so that a reader walks a file from top to bottom.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Complaint {
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) wrong: String,
    pub(crate) instead: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.path, self.line, self.wrong, self.instead)
    }
}

/// Every message as it is printed, for the tests of the rules.
#[cfg(test)]
pub(crate) fn printed(complaints: &[Complaint]) -> String {
    complaints.iter().map(|complaint| format!("{complaint}\n")).collect()
}
