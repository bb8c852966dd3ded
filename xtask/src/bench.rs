//! Benchmarks: figures to look at, printed with the commands that gave them. Nothing is asserted of a speed.

mod stall;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// What may follow the verb.
pub(crate) const USAGE: &str = "stall [--seconds N]";
/// What the verb is for.
pub(crate) const ABOUT: &str = "figures to look at, nothing asserted\n\
    stall: a server that freezes 1 s in every 10, seen by an open and by a closed model";

/// Runs the benchmark that is named.
///
/// # Errors
/// When there is none of that name, or it cannot be carried out.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((name, rest)) if name == "stall" => stall::run(workspace, rest),
        _ => bail!("say which benchmark; usage: cargo xtask bench {USAGE}"),
    }
}
