//! What an attack must not do, and what it did.

use std::fmt;

/// The outcome of one attack.
pub(super) struct Expectation {
    attack: String,
    /// What it did that it must not; empty when the command resisted it.
    harm: Vec<String>,
    /// What happened instead.
    happened: String,
}

impl Expectation {
    /// An attack, and what happened.
    pub(super) fn new(attack: impl Into<String>, happened: impl Into<String>) -> Self {
        Self { attack: attack.into(), harm: Vec::new(), happened: happened.into() }
    }

    /// Nothing is wrong where `holds`; otherwise the attack did `harm`.
    pub(super) fn unless(mut self, holds: bool, harm: impl Into<String>) -> Self {
        if !holds {
            self.harm.push(harm.into());
        }
        self
    }

    /// Whether the command resisted.
    pub(super) fn is_met(&self) -> bool {
        self.harm.is_empty()
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_met() {
            true => write!(f, "resisted   {}: {}", self.attack, self.happened),
            false => write!(f, "SUCCEEDED  {}: {} ({})", self.attack, self.harm.join(", "), self.happened),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_harm_is_enough() {
        let outcome =
            Expectation::new("a journal", "exit code 2").unless(true, "a").unless(false, "deleted x");
        assert!(!outcome.is_met());
        assert_eq!(outcome.to_string(), "SUCCEEDED  a journal: deleted x (exit code 2)");
        assert_eq!(Expectation::new("a", "b").to_string(), "resisted   a: b");
    }
}
