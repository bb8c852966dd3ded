//! Benchmarks: figures to look at, printed with the commands that gave them. Nothing is asserted of a speed.

mod challenge;
mod stall;

use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// What may follow the verb.
pub(crate) const USAGE: &str = "stall [--seconds N] | challenge [--store sqlite|postgres|both] [--only NAME,…] \
                                [--seconds N] [--quick] [--write]";
/// What the verb is for.
pub(crate) const ABOUT: &str = "figures to look at, nothing asserted\n\
    stall: a server that freezes 1 s in every 10, seen by an open and by a closed model\n\
    challenge: the challenge service's work per CPU-second, latency, memory and overload;\n\
    --write puts the tables into docs/challenge-bench.md";

/// Runs the benchmark that is named.
///
/// # Errors
/// When there is none of that name, or it cannot be carried out.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((name, rest)) if name == "stall" => stall::run(workspace, rest),
        Some((name, rest)) if name == "challenge" => challenge::run(workspace, rest),
        _ => bail!("say which benchmark; usage: cargo xtask bench {USAGE}"),
    }
}

/// Says how it is called, so that everything can be done again by hand.
fn say(command: &Command) {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    println!("$ {}", words.join(" "));
}
