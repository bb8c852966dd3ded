//! The arguments of the benchmark of the gateway: what is measured, for how long, and where the figures go.

use anyhow::{Context as _, Result, bail};

use crate::bench::options::{Selection, number};

/// Plans are written for this long a measurement; other lengths scale them.
const PLANNED_SECONDS: u64 = 10;
const QUICK_SECONDS: u64 = 3;
const MOST_SECONDS: u64 = 120;

/// The arguments, checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) only: Selection,
    seconds: u64,
    /// Whether the tables go into the documentation too.
    pub(super) is_written: bool,
}

impl Options {
    /// Reads the arguments after `gateway`.
    ///
    /// # Errors
    /// Names what is not understood.
    pub(super) fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self { only: Selection::default(), seconds: PLANNED_SECONDS, is_written: false };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--only" => options.only = Selection::read(value()?),
                "--seconds" => options.seconds = number(value()?, "seconds", 1..=MOST_SECONDS)?,
                "--quick" => options.seconds = QUICK_SECONDS,
                "--write" => options.is_written = true,
                _ => bail!("unknown argument `{word}`; usage: cargo xtask bench {}", super::super::USAGE),
            }
        }
        Ok(options)
    }

    /// The factor for the length of each phase.
    pub(super) fn time_scale(&self) -> f64 {
        self.seconds as f64 / PLANNED_SECONDS as f64
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
    fn only_selected_measurements_are_made_and_a_wrong_argument_is_named() {
        let options = read("--only users --quick --write").expect("well formed");
        assert!(options.only.includes("users") && !options.only.includes("workers") && options.is_written);
        assert!((options.time_scale() - 0.3).abs() < 1e-9);
        assert_eq!(read("--seconds 0"), Err("take 1 to 120 seconds".to_owned()));
        assert!(read("--fast").is_err());
    }
}
