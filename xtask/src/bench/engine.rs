//! What Plimsoll takes for a request, beside a bare epoll loop and the generators of others.
//!
//! All ask the same nginx, one after the other, round after round, so that what disturbs the machine disturbs them
//! alike. Counted is the processor time of the generator's whole process, user and system, from its start to its
//! end, over the requests that it says were answered. Plimsoll records everything while it does so, and writes its
//! archive and its report. Start reading at [`CONTESTS`].

mod contest;
mod measured;
mod options;
mod ratio;
pub(super) mod target;
mod tool;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use self::contest::{Contest, Lane};
use self::options::Options;
use self::target::Target;
use self::tool::Contender;
use super::table::Table;
use super::{machine, write_into};
use crate::steps;
use crate::workspace::Workspace;

const DOCUMENT: &str = "docs/benchmarks.md";

/// What is compared, each with its own table.
const CONTESTS: &[Contest] = &[
    Contest { connections: 64, ..HTTP1 },
    Contest { name: "http2", lane: Lane::Http2, connections: 16, in_flight: 16, ..HTTP1 },
    Contest { name: "grpc", lane: Lane::Grpc, connections: 4, in_flight: 16, ..HTTP1 },
    Contest { name: "http1-1000", connections: 1_000, rounds: Rounds::Few, ..HTTP1 },
    Contest { name: "http1-10000", connections: 10_000, rounds: Rounds::Few, ..HTTP1 },
    Contest { name: "users-10000", connections: 10_000, rounds: Rounds::Few, think_s: 10, ..HTTP1 },
];

/// What the others differ from: all users ask as soon as they are answered.
const HTTP1: Contest = Contest {
    name: "http1",
    lane: Lane::Http1,
    connections: 1,
    in_flight: 1,
    rounds: Rounds::All,
    think_s: 0,
};

/// How often a contest is held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounds {
    /// As often as asked.
    All,
    /// A few times: it is about memory, which does not scatter.
    Few,
}

/// Holds the contests that are asked for and prints them as Markdown.
///
/// # Errors
/// When an argument is not understood, nginx is missing, or a generator does not do what it should.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let options = Options::read(arguments)?;
    let known: Vec<&str> = CONTESTS.iter().map(|one| one.name).collect();
    options.only.check(&known)?;
    let mut build = workspace.cargo();
    build
        .args(["build", "--package", "plimsoll", "--package", "testbed", "--bins"])
        .args(workspace.profile());
    steps::run(build).context("cannot build the tool and the floor")?;
    let folder = workspace.scratch("bench-engine")?;
    let target = Target::start(&folder)?;
    let (present, missing): (Vec<_>, Vec<_>) = Contender::ALL.into_iter().partition(|one| one.is_there());
    let mut texts = BTreeMap::new();
    texts.insert("machine", conditions(workspace, (arguments, &present, &missing)).render());
    let mut failures = Vec::new();
    for contest in CONTESTS.iter().filter(|one| options.only.wants(one.name)) {
        let entrants: Vec<_> = present.iter().copied().filter(|one| one.takes_part(contest)).collect();
        let hold = || contest.hold((workspace, &options), (&target, &folder), &entrants);
        match steps::step(contest.name, hold) {
            Ok(table) => drop(texts.insert(contest.name, table.render())),
            Err(error) => failures.push(format!("{error:#}")),
        }
    }
    target.stop()?;
    println!();
    texts.iter().for_each(|(name, text)| println!("## {name}\n\n{text}"));
    if options.is_written {
        write_into(workspace, (DOCUMENT, &texts))?;
    }
    // What was measured is worth keeping whatever became of the rest.
    ensure!(failures.is_empty(), "not everything was carried out:\n  {}", failures.join("\n  "));
    Ok(())
}

/// The machine, the versions, who is missing.
fn conditions(
    workspace: &Workspace,
    (arguments, present, missing): (&[String], &[Contender], &[Contender]),
) -> Table {
    let mut table = machine::describe(workspace, ("engine", arguments));
    let versions: Vec<String> = present.iter().filter_map(|one| one.version()).collect();
    table.notes.push(format!("others: {}", versions.join("; ")));
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|one| one.name()).collect();
        table.notes.push(format!("not installed, hence not measured: {}", names.join(", ")));
    }
    table
}
