//! Arguments that several benchmarks take.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

/// The measurements that are selected by name; none means all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Selection(Vec<String>);

impl Selection {
    /// Reads a list such as `list,events`.
    pub(super) fn read(word: &str) -> Self {
        Self(word.split(',').map(|name| name.trim().to_owned()).collect())
    }

    /// Whether this one is selected.
    pub(super) fn includes(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == name)
    }

    /// Checks that all selected names exist.
    ///
    /// # Errors
    /// Names what does not exist, and all that does.
    pub(super) fn check(&self, known: &[&str]) -> Result<()> {
        for name in &self.0 {
            ensure!(
                known.contains(&name.as_str()),
                "nothing is named `{name}`; there are: {}",
                known.join(", ")
            );
        }
        Ok(())
    }
}

/// Reads a whole number; `of` is what it counts.
///
/// # Errors
/// When it is no number, or not within the range.
pub(super) fn number(word: &str, of: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    let number = word.parse().with_context(|| format!("`{word}` is no number of {of}"))?;
    ensure!(range.contains(&number), "take {} to {} {of}", range.start(), range.end());
    Ok(number)
}

/// The program at this path, absolute because benchmarks run it in a folder of their own.
///
/// # Errors
/// When there is none.
pub(super) fn program(path: &str) -> Result<PathBuf> {
    std::fs::canonicalize(path).with_context(|| format!("cannot find the program `{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_selection_everything_is_measured() {
        assert!(Selection::default().includes("list"));
        let some = Selection::read("list, events");
        assert!(some.includes("events") && !some.includes("mix"));
        assert!(some.check(&["list", "events", "mix"]).is_ok());
        let error = some.check(&["list"]).expect_err("one is unknown").to_string();
        assert_eq!(error, "nothing is named `events`; there are: list");
    }

    #[test]
    fn numbers_are_bounded_and_errors_name_what_they_count() {
        assert_eq!(number("7", "rounds", 1..=9).expect("a number"), 7);
        let error = |word| number(word, "rounds", 1..=9).expect_err("no such").to_string();
        assert_eq!(
            (error("0"), error("x")),
            ("take 1 to 9 rounds".into(), "`x` is no number of rounds".into())
        );
    }
}
