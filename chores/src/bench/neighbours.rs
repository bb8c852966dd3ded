//! Verdicts of real runs whose truth was arranged: quiet and beside planted neighbours, against targets that are fast,
//! slow, failing or frozen for a while.
//!
//! The load is the demo's plan in a shorter form with its objectives unchanged. The rows take turns, so that each of them
//! has its share of the machine's good and bad times.

mod arranged;
mod live;
mod tally;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};

use self::arranged::ARRANGED;
use self::live::LiveRuns;
use self::tally::Tally;
use super::options::{Selection, number};
use super::{USAGE, machine, write_into};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/error-rates.md";
const DEFAULT_RUNS: u64 = 20;
const MOST_RUNS: u64 = 1_000;
const DEFAULT_SECONDS: u64 = 26;
/// The demo's own length.
const MOST_SECONDS: u64 = 105;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    only: Selection,
    runs: u64,
    /// Length of a run of the demo's plan.
    seconds: u64,
    is_written: bool,
}

/// Carries out the runs, prints what became of them, and writes that where asked.
///
/// # Errors
/// When an argument is not understood, nothing can be built, or a row misses its expectation.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "challenge", "--package", "testbed"]);
    build.args(["--bins", "--features", "challenge/faults"]).args(workspace.profile());
    steps::run(build).context("cannot build the tool and the targets")?;
    let machine = machine::describe(workspace, "neighbours", arguments);
    let folder = workspace.scratch("bench-neighbours")?;
    let live = LiveRuns { workspace, folder: &folder, seconds: options.seconds };
    let selected = ARRANGED.iter().filter(|arranged| options.only.includes(arranged.name));
    let mut tallies: Vec<Tally> = selected.map(Tally::new).collect();
    for number in 1..=options.runs {
        for tally in tallies.iter_mut().filter(|tally| number <= tally.arranged.most_runs) {
            println!("==> {}, run {number}", tally.arranged.name);
            tally.add(live.carry_out(tally.arranged, number));
        }
    }
    let mut table = tally::table(&tallies);
    table.notes.extend(machine.notes);
    let text = table.render();
    println!("\n{text}");
    if options.is_written {
        write_into(workspace, DOCUMENT, &BTreeMap::from([("neighbours", text)]))?;
    }
    let missed: Vec<_> = tallies.iter().filter(|tally| !tally.is_reached()).map(Tally::miss).collect();
    ensure!(missed.is_empty(), "not as expected:\n  {}", missed.join("\n  "));
    Ok(())
}

fn options(arguments: &[String]) -> Result<Options> {
    let only = Selection::default();
    let mut options = Options { only, runs: DEFAULT_RUNS, seconds: DEFAULT_SECONDS, is_written: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            "--only" => options.only = Selection::read(value()?),
            "--runs" => options.runs = number(value()?, "runs", 1..=MOST_RUNS)?,
            "--seconds" => options.seconds = number(value()?, "seconds", 10..=MOST_SECONDS)?,
            "--write" => options.is_written = true,
            _ => bail!("unknown argument `{word}`; usage: cargo xtask bench {USAGE}"),
        }
    }
    options.only.check(&ARRANGED.map(|arranged| arranged.name))?;
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_runs_and_lengths_are_selected() {
        let of = |words: &[&str]| options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&[]).expect("the defaults").runs, 20);
        let some = of(&["--only", "quiet,outage", "--runs", "2", "--seconds", "10"]).expect("a selection");
        assert_eq!((some.runs, some.seconds, some.is_written), (2, 10, false));
        assert!(some.only.includes("outage") && !some.only.includes("slow"));
        for wrong in [
            &["--seconds", "9"][..],
            &["--seconds", "106"],
            &["--runs", "0"],
            &["--only", "loud"],
            &["--fast"],
        ] {
            assert!(of(wrong).is_err(), "{wrong:?}");
        }
    }
}
