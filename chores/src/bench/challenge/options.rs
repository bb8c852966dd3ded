//! The arguments of the benchmarks of services: what is measured, for how long, and where the figures go.

use anyhow::{Context as _, Result, bail};

use super::store::StoreKind;
use crate::bench::options::{Selection, number};

/// Plans are written for this long a measurement; other lengths scale them.
const PLANNED_SECONDS: u64 = 10;
const QUICK_SECONDS: u64 = 3;
const MOST_SECONDS: u64 = 120;

/// The arguments, checked.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::bench) struct Options {
    pub(in crate::bench) stores: Vec<StoreKind>,
    pub(in crate::bench) only: Selection,
    seconds: u64,
    /// Whether the tables go into the documentation too.
    pub(in crate::bench) is_written: bool,
}

impl Options {
    /// Reads the arguments after `challenge`.
    ///
    /// # Errors
    /// Names what is not understood.
    pub(in crate::bench) fn read(arguments: &[String]) -> Result<Self> {
        let mut options = Self {
            stores: StoreKind::ALL.to_vec(),
            only: Selection::default(),
            seconds: PLANNED_SECONDS,
            is_written: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--store" => options.stores = stores(value()?)?,
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
    pub(in crate::bench) fn time_scale(&self) -> f64 {
        self.seconds as f64 / PLANNED_SECONDS as f64
    }

    /// The length of a measurement without a plan.
    pub(in crate::bench) fn seconds(&self) -> u64 {
        self.seconds
    }
}

fn stores(word: &str) -> Result<Vec<StoreKind>> {
    if word == "both" {
        return Ok(StoreKind::ALL.to_vec());
    }
    let kind = StoreKind::ALL.into_iter().find(|kind| kind.name() == word);
    Ok(vec![kind.with_context(|| format!("there is no store `{word}`; take sqlite, postgres or both"))?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> Result<Options, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Options::read(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn without_arguments_everything_is_measured_in_both_stores() {
        let options = read("").expect("the default");
        assert_eq!(options.stores, StoreKind::ALL);
        assert!(options.only.includes("list") && !options.is_written);
        assert!((options.time_scale() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn only_selected_measurements_are_made() {
        let options = read("--store sqlite --only list,events --quick --write").expect("well formed");
        assert_eq!(options.stores, [StoreKind::Sqlite]);
        assert!(options.only.includes("events") && !options.only.includes("mix") && options.is_written);
        assert_eq!(options.seconds(), QUICK_SECONDS);
    }

    #[test]
    fn a_wrong_argument_is_named() {
        let expect = [
            ("--store oracle", "there is no store `oracle`; take sqlite, postgres or both"),
            ("--seconds 0", "take 1 to 120 seconds"),
            ("--seconds soon", "`soon` is no number of seconds"),
            ("--only", "--only needs a value"),
        ];
        for (words, error) in expect {
            assert_eq!(read(words), Err(error.to_owned()));
        }
        assert!(read("--fast").is_err());
    }
}
