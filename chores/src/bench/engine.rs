//! The CPU time that Plimsoll takes for a request, compared with a bare epoll loop and the tools of others.
//!
//! All load the same nginx, one after the other, round after round, so that disturbances of the machine affect all of
//! them. Measured is the processor time of the tool's whole process, user and system, from its start to its end, divided
//! by the successful requests that it reports. Plimsoll records everything meanwhile, and writes its archive and its
//! report. Start reading at [`COMPARISONS`].

mod comparison;
pub(super) mod measured;
pub(super) mod ratio;
pub(super) mod target;
mod tool;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::builder::PossibleValuesParser;

use self::comparison::{Comparison, EngineBench};
use self::target::{Protocol, Target};
use self::tool::{Tool, ToolLoad};
use super::options::{is_selected, program};
use super::table::Table;
use super::{build, machine, publish};
use crate::steps;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/benchmarks.md";
/// Rounds of comparisons of memory.
const FEW_ROUNDS: u64 = 2;

/// What is compared, each with a table of its own.
const COMPARISONS: &[Comparison] = &[
    Comparison { name: "http1", rounds: Rounds::All, load: ToolLoad { connections: 64, ..HTTP1 } },
    Comparison {
        name: "http2",
        rounds: Rounds::All,
        load: ToolLoad { protocol: Protocol::Http2, connections: 16, in_flight: 16, ..HTTP1 },
    },
    Comparison {
        name: "grpc",
        rounds: Rounds::All,
        load: ToolLoad { protocol: Protocol::Grpc, connections: 4, in_flight: 16, ..HTTP1 },
    },
    Comparison { name: "http1-1000", rounds: Rounds::Few, load: ToolLoad { connections: 1_000, ..HTTP1 } },
    Comparison { name: "http1-10000", rounds: Rounds::Few, load: ToolLoad { connections: 10_000, ..HTTP1 } },
    Comparison {
        name: "users-10000",
        rounds: Rounds::Few,
        load: ToolLoad { connections: 10_000, think_s: 10, ..HTTP1 },
    },
];

/// The base of all others: every user sends its next request as soon as it has a response.
const HTTP1: ToolLoad = ToolLoad { protocol: Protocol::Http1, connections: 1, in_flight: 1, think_s: 0 };

/// How many rounds a comparison has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounds {
    /// As many as the options set.
    All,
    /// A few: memory hardly varies between rounds.
    Few,
}

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// These comparisons only
    #[arg(long, value_name = "NAME", value_delimiter = ',',
        value_parser = PossibleValuesParser::new(COMPARISONS.iter().map(|one| one.name)))]
    only: Vec<String>,
    /// How many rounds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100))]
    rounds: u64,
    /// How long each tool offers load in each round
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Another build of Plimsoll, which is then compared instead of the tools of others
    #[arg(long, value_name = "PROGRAM", value_parser = program)]
    baseline: Option<PathBuf>,
    /// Put the tables into docs/benchmarks.md
    #[arg(long = "write")]
    is_written: bool,
}

impl Options {
    /// How many rounds a comparison has.
    fn rounds(&self, rounds: Rounds) -> u64 {
        match rounds {
            Rounds::All => self.rounds,
            Rounds::Few => self.rounds.min(FEW_ROUNDS),
        }
    }
}

/// Makes the selected comparisons and prints them as Markdown.
///
/// # Errors
/// When nginx is missing, or a tool fails.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    build(workspace, &["plimsoll", "testbed"])?;
    let folder = workspace.scratch("bench-engine")?;
    let target = Target::start(&folder)?;
    let tools = if options.baseline.is_some() { Tool::BUILDS.as_slice() } else { Tool::ALL.as_slice() };
    let (present, missing): (Vec<_>, Vec<_>) = tools.iter().partition(|tool| tool.is_installed());
    let bench = EngineBench { workspace, options, target: &target, folder: &folder };
    let mut texts = BTreeMap::new();
    texts.insert("machine", conditions(workspace, &present, &missing).render());
    let mut failures = Vec::new();
    for comparison in COMPARISONS.iter().filter(|one| is_selected(&options.only, one.name)) {
        let tools: Vec<_> = present.iter().copied().filter(|tool| tool.can_offer(&comparison.load)).collect();
        match steps::step(comparison.name, || comparison.run(&bench, &tools)) {
            Ok(table) => drop(texts.insert(comparison.name, table.render())),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    publish(workspace, options.is_written.then_some(DOCUMENT), &texts)?;
    // Results are written also when some comparisons failed.
    ensure!(failures.is_empty(), "not everything was carried out:\n  {}", failures.join("\n  "));
    Ok(())
}

/// The machine, the versions, and the tools that are missing.
fn conditions(workspace: &Workspace, present: &[Tool], missing: &[Tool]) -> Table {
    let mut table = machine::describe(workspace);
    let versions: Vec<String> = present.iter().filter_map(|one| one.version()).collect();
    if !versions.is_empty() {
        table.notes.push(format!("others: {}", versions.join("; ")));
    }
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|one| one.name()).collect();
        table.notes.push(format!("not installed, so not measured: {}", names.join(", ")));
    }
    table
}
