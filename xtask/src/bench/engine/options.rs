//! How often, how long, which, and where the figures go.

use anyhow::{Context as _, Result, bail, ensure};

const DEFAULT_ROUNDS: usize = 10;
const FEW_ROUNDS: usize = 2;
const MOST_ROUNDS: usize = 100;
const DEFAULT_SECONDS: u64 = 3;
const MOST_SECONDS: u64 = 60;

/// The arguments, checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Names of contests; none means all.
    pub(super) only: Vec<String>,
    rounds: usize,
    /// How long each generator offers load in each round.
    pub(super) seconds: u64,
    /// Whether the tables go into the documentation too.
    pub(super) is_written: bool,
}

impl Options {
    /// Reads the arguments after `engine`.
    ///
    /// # Errors
    /// Names what is not understood.
    pub(super) fn read(arguments: &[String]) -> Result<Self> {
        let mut options =
            Self { only: Vec::new(), rounds: DEFAULT_ROUNDS, seconds: DEFAULT_SECONDS, is_written: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} wants a value"));
            match word.as_str() {
                "--only" => options.only = value()?.split(',').map(|name| name.trim().to_owned()).collect(),
                "--rounds" => options.rounds = number(value()?, MOST_ROUNDS as u64)? as usize,
                "--seconds" => options.seconds = number(value()?, MOST_SECONDS)?,
                "--write" => options.is_written = true,
                _ => bail!("unknown argument `{word}`; usage: cargo xtask bench {}", super::super::USAGE),
            }
        }
        Ok(options)
    }

    /// Whether this one is asked for.
    pub(super) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }

    /// How often a contest is held.
    pub(super) fn rounds(&self, rounds: super::Rounds) -> usize {
        match rounds {
            super::Rounds::All => self.rounds,
            super::Rounds::Few => self.rounds.min(FEW_ROUNDS),
        }
    }
}

fn number(word: &str, most: u64) -> Result<u64> {
    let number = word.parse().with_context(|| format!("`{word}` is no whole number"))?;
    ensure!((1..=most).contains(&number), "take 1 to {most}, not {number}");
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Options, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Options::read(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn ten_rounds_of_all_are_the_default() {
        let options = read("").expect("the default");
        assert!(options.wants("http1") && !options.is_written);
        assert_eq!((options.rounds(super::super::Rounds::All), options.seconds), (10, 3));
        assert_eq!(options.rounds(super::super::Rounds::Few), 2);
    }

    #[test]
    fn what_is_not_understood_is_named() {
        let expect = [
            ("--rounds 0", "take 1 to 100, not 0"),
            ("--seconds soon", "`soon` is no whole number"),
            ("--only", "--only wants a value"),
        ];
        for (words, error) in expect {
            assert_eq!(read(words), Err(error.to_owned()));
        }
        assert!(read("--fast").is_err());
    }
}
