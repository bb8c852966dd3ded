//! The arguments of the benchmark of the engine: how many rounds, how long, which tools, and where the figures go.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::bench::options::{Selection, number, program};

const DEFAULT_ROUNDS: u64 = 10;
const FEW_ROUNDS: u64 = 2;
const MOST_ROUNDS: u64 = 100;
const DEFAULT_SECONDS: u64 = 3;
const MOST_SECONDS: u64 = 60;

/// The arguments, checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) only: Selection,
    rounds: u64,
    /// How long each tool offers load in each round.
    pub(super) seconds: u64,
    /// Another build of Plimsoll, which is then compared instead of the tools of others.
    pub(super) baseline: Option<PathBuf>,
    /// Whether the tables go into the documentation too.
    pub(super) is_written: bool,
}

impl Options {
    /// Reads the arguments after `engine`.
    ///
    /// # Errors
    /// Names what is not understood.
    pub(super) fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            only: Selection::default(),
            rounds: DEFAULT_ROUNDS,
            seconds: DEFAULT_SECONDS,
            baseline: None,
            is_written: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--only" => options.only = Selection::read(value()?),
                "--rounds" => options.rounds = number(value()?, "rounds", 1..=MOST_ROUNDS)?,
                "--seconds" => options.seconds = number(value()?, "seconds", 1..=MOST_SECONDS)?,
                "--baseline" => options.baseline = Some(program(value()?)?),
                "--write" => options.is_written = true,
                _ => bail!("unknown argument `{word}`; usage: cargo xtask bench {}", super::super::USAGE),
            }
        }
        Ok(options)
    }

    /// How many rounds a comparison has.
    pub(super) fn rounds(&self, rounds: super::Rounds) -> u64 {
        match rounds {
            super::Rounds::All => self.rounds,
            super::Rounds::Few => self.rounds.min(FEW_ROUNDS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Options, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Options::read(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn the_default_is_ten_rounds_of_all_comparisons() {
        let options = read("").expect("the default");
        assert!(options.only.includes("http1") && !options.is_written);
        assert_eq!((options.rounds(super::super::Rounds::All), options.seconds), (10, 3));
        assert_eq!(options.rounds(super::super::Rounds::Few), 2);
    }

    #[test]
    fn a_baseline_must_exist() {
        assert_eq!(
            read("--baseline /nonexistent/plimsoll"),
            Err("cannot find the program `/nonexistent/plimsoll`".to_owned())
        );
        assert!(read("--baseline /proc/self/exe").expect("a program").baseline.is_some());
    }

    #[test]
    fn a_wrong_argument_is_named() {
        let expect = [
            ("--rounds 0", "take 1 to 100 rounds"),
            ("--seconds soon", "`soon` is no number of seconds"),
            ("--only", "--only needs a value"),
        ];
        for (words, error) in expect {
            assert_eq!(read(words), Err(error.to_owned()));
        }
        assert!(read("--fast").is_err());
    }
}
