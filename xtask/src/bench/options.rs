//! Arguments that several benches take.

use anyhow::{Context as _, Result, ensure};

/// Which measurements are asked for, by name; none means all.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Only(Vec<String>);

impl Only {
    /// Reads a list such as `list,events`.
    pub(super) fn read(word: &str) -> Self {
        Self(word.split(',').map(|name| name.trim().to_owned()).collect())
    }

    /// Whether this one is asked for.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|wanted| wanted == name)
    }

    /// Sees to it that all that is asked for exists.
    ///
    /// # Errors
    /// Names what does not, and all that does.
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
/// When it is none, or not within the range.
pub(super) fn number(word: &str, of: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64> {
    let number = word.parse().with_context(|| format!("`{word}` is no number of {of}"))?;
    ensure!(range.contains(&number), "take {} to {} {of}", range.start(), range.end());
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_said_is_everything() {
        assert!(Only::default().wants("list"));
        let some = Only::read("list, events");
        assert!(some.wants("events") && !some.wants("mix"));
        assert!(some.check(&["list", "events", "mix"]).is_ok());
        let error = some.check(&["list"]).expect_err("one is unknown").to_string();
        assert_eq!(error, "nothing is named `events`; there are: list");
    }

    #[test]
    fn numbers_are_bounded_and_say_what_they_count() {
        assert_eq!(number("7", "rounds", 1..=9).expect("a number"), 7);
        let error = |word| number(word, "rounds", 1..=9).expect_err("no such").to_string();
        assert_eq!(
            (error("0"), error("x")),
            ("take 1 to 9 rounds".into(), "`x` is no number of rounds".into())
        );
    }
}
