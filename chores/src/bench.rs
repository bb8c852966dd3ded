//! Benchmarks: figures to look at, printed with the commands that gave them. Nothing is asserted of a speed.

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
mod testbed_target;
mod verdicts;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use xtask::workspace::Workspace;

/// What may follow the verb.
pub(crate) const USAGE: &str = "stall [--seconds N] [--write] | services [--only NAME,…] [--seconds N] [--write] | engine [--only NAME,…] \
                                [--rounds N] [--seconds N] [--baseline PROGRAM] [--write] | lag [--rounds N] [--seconds N] \
                                [--baseline PROGRAM] [--write] | steady [--minutes N] [--rate N] [--write] | \
                                k6 [--k6 PROGRAM] [--only NAME,…] [--rounds N] [--seconds N] [--write] | \
                                verdicts [--runs N] [--write] | experiments [--experiments N] [--searches N] \
                                [--pairs N | --live DIR] [--write] | neighbours [--runs N] [--only NAME,…] [--seconds N] \
                                [--write]";
/// What the verb is for.
pub(crate) const ABOUT: &str = "figures to look at, nothing asserted\n    \
    stall: a server that freezes 1 s in every 10, measured by an open and by a closed model, and by other tools\n    \
    services: the work of the services per CPU-second, in both stores\n    \
    engine: the CPU that Plimsoll takes for a request, beside a bare epoll loop and other tools that are installed\n    \
    lag: how much later than due requests start, beside a bare timer loop\n    \
    steady: the generator's memory over many minutes, with errors and a million URLs\n    \
    k6: scripts in Plimsoll and in k6: CPU time of an iteration, memory of a virtual user\n    \
    verdicts: how often verdicts on simulated runs are wrong; fails where a limit is exceeded\n    \
    experiments: how often simulated experiments are decided wrongly, bisections and searches for capacity included, and \
    experiments drawn from live pairs of the challenge service against itself; fails where a promise is broken\n    \
    neighbours: verdicts on real runs beside neighbours that take half of each processor, of targets that are fast, slow, \
    failing or frozen for a while; fails where one is not as expected\n    \
    --write puts the tables into docs/service-benchmarks.md, docs/error-rates.md, docs/k6-benchmarks.md or \
    docs/benchmarks.md";

/// Runs the benchmark that is named.
///
/// # Errors
/// When there is none of that name, or it cannot be carried out.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((name, rest)) if name == "stall" => stall::run(workspace, rest),
        Some((name, rest)) if name == "services" => services::run(workspace, rest),
        Some((name, rest)) if name == "engine" => engine::run(workspace, rest),
        Some((name, rest)) if name == "lag" => lag::run(workspace, rest),
        Some((name, rest)) if name == "steady" => steady::run(workspace, rest),
        Some((name, rest)) if name == "verdicts" => verdicts::run(workspace, rest),
        Some((name, rest)) if name == "experiments" => experiments::run(workspace, rest),
        Some((name, rest)) if name == "k6" => k6::run(workspace, rest),
        Some((name, rest)) if name == "neighbours" => neighbours::run(workspace, rest),
        _ => bail!("name a benchmark; usage: cargo xtask bench {USAGE}"),
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

/// Puts each text between its markers in the document.
fn write_into(workspace: &Workspace, document: &str, texts: &BTreeMap<&str, String>) -> Result<()> {
    let path = workspace.root().join(document);
    let mut text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {document}"))?;
    for (name, part) in texts {
        text = table::replace(&text, name, part)?;
    }
    std::fs::write(&path, text).with_context(|| format!("cannot write {document}"))
}
