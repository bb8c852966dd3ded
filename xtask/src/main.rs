//! `cargo xtask demo` runs here; every other verb is compiled and run by the crate `chores`.
//!
//! This crate is compiled in front of the demo, so it has next to no dependencies.
#![allow(clippy::print_stderr, reason = "a command prints on its terminal")]

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, ensure};

use xtask::demo;
use xtask::workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let ran = match arguments.split_first() {
        Some((verb, rest)) if verb == "demo" && rest.first().is_none_or(|first| first != "--check") => {
            Workspace::with_profile(demo::PROFILE).and_then(|workspace| demo::run(&workspace, rest))
        }
        _ => run_chore(&arguments),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {}: {error:#}", arguments.join(" "));
            ExitCode::FAILURE
        }
    }
}

/// Builds the chores and replaces this process by them, so that signals and the exit code are theirs.
fn run_chore(arguments: &[String]) -> anyhow::Result<()> {
    let workspace = Workspace::find()?;
    let mut build = workspace.cargo();
    // With a test target (one that is small), third-party packages have the features that all tests need, and are
    // compiled once.
    build.args(["build", "--locked", "--workspace", "--bin", "chores", "--test", "servers"]);
    let status = build.status().context("cannot start cargo")?;
    ensure!(status.success(), "cargo build ended with {status}");
    Err(Command::new(workspace.binary("chores")).args(arguments).exec()).context("cannot start the chore")
}
