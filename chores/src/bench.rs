//! Benchmarks: figures to look at, printed with the commands that gave them. Nothing is asserted of a speed.

mod causes;
mod engine;
mod experiments;
mod k6;
mod lag;
mod machine;
mod neighbours;
mod options;
mod proc;
mod run_report;
mod services;
mod stall;
mod steady;
mod table;
pub(crate) mod testbed_target;
mod verdicts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::steps;
use xtask::workspace::Workspace;

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// The CPU time that Plimsoll takes for a request, beside a bare epoll loop and other tools that are installed
    Engine(engine::Options),
    /// How much later than due requests start, beside a bare timer loop
    Lag(lag::Options),
    /// A server that freezes 1 s in every 10, measured by an open and by a closed model, and by other tools
    Stall(stall::Options),
    /// The generator's memory over many minutes, with errors and a million URLs
    Steady(steady::Options),
    /// Scripts in Plimsoll and in k6: CPU time of an iteration, memory of a virtual user
    K6(k6::Options),
    /// The work of the services per CPU-second, in both stores
    Services(services::Options),
    /// How often verdicts on simulated runs are wrong; fails where a limit is exceeded
    Verdicts(verdicts::Options),
    /// How often simulated experiments, bisections and searches for capacity are decided wrongly; fails where a promise is
    /// broken
    Experiments(experiments::Options),
    /// Verdicts on real runs beside neighbours that take half of each processor, of targets that are fast, slow, failing or
    /// frozen for a while; fails where one is not as expected
    Neighbours(neighbours::Options),
    /// Diagnoses of servers that others wrote, each with a limit that is planted: how often it is named, and how often another; installs
    /// what is missing from npm, Maven, PyPI and Go's proxy, and needs Debian's nginx, haproxy, redis-server and webdis
    Causes(causes::Options),
}

/// Runs the benchmark that is named.
///
/// # Errors
/// When it cannot be carried out.
pub(crate) fn run(workspace: &Workspace, bench: &Bench) -> Result<()> {
    match bench {
        Bench::Engine(options) => engine::run(workspace, options),
        Bench::Lag(options) => lag::run(workspace, options),
        Bench::Stall(options) => stall::run(workspace, options),
        Bench::Steady(options) => steady::run(workspace, options),
        Bench::K6(options) => k6::run(workspace, options),
        Bench::Services(options) => services::run(workspace, options),
        Bench::Verdicts(options) => verdicts::run(workspace, options),
        Bench::Experiments(options) => experiments::run(workspace, options),
        Bench::Neighbours(options) => neighbours::run(workspace, options),
        Bench::Causes(options) => causes::run(workspace, options),
    }
}

/// Prints the command line, so that everything can be repeated by hand.
fn print_command(command: &Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    println!("$ {}", words.join(" "));
}

/// The processor that a program may use, so that the generator and the service do not compete for one.
#[derive(Clone, Copy)]
struct CpuPlacement(usize);

impl CpuPlacement {
    const SERVER: CpuPlacement = CpuPlacement(0);
    const GENERATOR: CpuPlacement = CpuPlacement(1);

    /// A command for `program` on this processor; on any if the machine has only one, or cannot bind to one.
    fn command(self, program: &Path) -> Command {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        if processors < 2 || find_program("taskset").is_none() {
            return Command::new(program);
        }
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", &self.0.to_string()]).arg(program);
        command
    }
}

/// The path of a program; servers are often outside the search path of users other than root.
fn find_program(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(program)).find(|file| file.exists())
}

/// Builds the programs of these packages with the profile that the chores were built with.
fn build(workspace: &Workspace, packages: &[&str]) -> Result<()> {
    let mut build = workspace.cargo();
    build.args(["build", "--bins"]).args(packages.iter().flat_map(|package| ["--package", package]));
    build.args(workspace.profile());
    steps::run(build).context("cannot build what is measured")
}

/// Prints what was measured, and puts each text between its markers in the document, where there is one to write.
fn publish(workspace: &Workspace, document: Option<&str>, texts: &BTreeMap<&str, String>) -> Result<()> {
    texts.iter().for_each(|(name, text)| println!("\n## {name}\n\n{text}"));
    let Some(document) = document else { return Ok(()) };
    let path = workspace.root().join(document);
    let mut text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {document}"))?;
    for (name, part) in texts {
        text = table::replace(&text, name, part)?;
    }
    std::fs::write(&path, text).with_context(|| format!("cannot write {document}"))
}
