//! Verdicts of real runs whose truth was arranged: quiet and beside planted neighbours, against targets that are fast,
//! slow, failing or frozen for a while.
//!
//! The load is the demo's plan in a shorter form with its objectives unchanged. The rows take turns, so that each of them
//! has its share of the machine's good and bad times.

mod arranged;
mod live;
mod tally;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use clap::builder::PossibleValuesParser;

use self::arranged::ARRANGED;
use self::live::LiveRuns;
use self::tally::Tally;
use super::options::is_selected;
use super::{machine, publish};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/error-rates.md";
const DEFAULT_SECONDS: u64 = 26;
/// The demo's own length.
const MOST_SECONDS: u64 = 105;

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// These rows only
    #[arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(ARRANGED.iter().map(|arranged| arranged.name)))]
    only: Vec<String>,
    /// How many runs of each row
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000))]
    runs: u64,
    /// The length of a run of the demo's plan
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SECONDS, value_parser = clap::value_parser!(u64).range(10..=MOST_SECONDS))]
    seconds: u64,
    /// Put the tables into docs/error-rates.md
    #[arg(long = "write")]
    is_written: bool,
}

/// Carries out the runs, prints what became of them, and writes that where asked.
///
/// # Errors
/// When nothing can be built, or a row misses its expectation.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let mut build = workspace.cargo();
    build.args(["build", "--package", "plimsoll", "--package", "challenge", "--package", "testbed"]);
    build.args(["--bins", "--features", "challenge/faults"]).args(workspace.profile());
    steps::run(build).context("cannot build the tool and the targets")?;
    let machine = machine::describe(workspace);
    let folder = workspace.scratch("bench-neighbours")?;
    let live = LiveRuns { workspace, folder: &folder, seconds: options.seconds };
    let selected = ARRANGED.iter().filter(|arranged| is_selected(&options.only, arranged.name));
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
    publish(workspace, options.is_written.then_some(DOCUMENT), &BTreeMap::from([("neighbours", text)]))?;
    let missed: Vec<_> = tallies.iter().filter(|tally| !tally.is_reached()).map(Tally::miss).collect();
    ensure!(missed.is_empty(), "not as expected:\n  {}", missed.join("\n  "));
    Ok(())
}
