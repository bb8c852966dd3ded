//! Every check that a change must pass: what the README documents and what CI runs.

mod beside;
mod jobs;
mod lean;
mod programs;
mod without_faults;

use anyhow::{Result, ensure};
use xtask::demo;
use xtask::workspace::Workspace;

use crate::features::FEATURES;
use crate::steps::{self, Tally};
use crate::{demo_check, dependencies, examples, instructions, needs, tidy};

/// Both halves.
///
/// # Errors
/// At the first step that fails.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    prepare(workspace)?;
    rules(workspace)?;
    tests(workspace, || {
        lints(workspace)?;
        build_of_the_demo()
    })
}

/// The checks that run nothing of the project.
///
/// # Errors
/// At the first step that fails.
pub(crate) fn run_lint(workspace: &Workspace) -> Result<()> {
    prepare(workspace)?;
    rules(workspace)?;
    lints(workspace)
}

/// The tests.
///
/// # Errors
/// At the first step that fails.
pub(crate) fn run_tests(workspace: &Workspace) -> Result<()> {
    prepare(workspace)?;
    tests(workspace, build_of_the_demo)
}

/// What every later step relies on: the programs of the system and all packages of the lock file.
fn prepare(workspace: &Workspace) -> Result<()> {
    steps::step("needs", || needs::provide(needs::NEEDS))?;
    steps::step("fetch", || {
        let mut command = workspace.cargo();
        command.args(["fetch", "--locked"]);
        steps::run(command)
    })
}

/// The checks that compile nothing.
fn rules(workspace: &Workspace) -> Result<()> {
    steps::step("format", || {
        let mut command = workspace.cargo();
        command.args(["fmt", "--all", "--check"]);
        steps::run(command)
    })?;
    steps::step("tidy", || tidy::run(workspace))?;
    steps::step("dependencies", || dependencies::check(workspace))
}

fn lints(workspace: &Workspace) -> Result<()> {
    steps::step("clippy", || {
        let mut command = workspace.cargo();
        command.args(["clippy", "--locked", "--workspace", "--all-targets"]).args(FEATURES);
        // The code of a module is in a file of its name, as in all of the tree.
        command.args(["--", "-D", "warnings", "-D", "clippy::mod_module_files"]);
        steps::run(command)
    })?;
    // As the demo is built.
    steps::step("clippy of the demo's build", || {
        let mut command = workspace.cargo();
        command.args(["clippy", "--locked", "--package", "plimsoll", "--package", "challenge", "--bins"]);
        command.args(["--no-default-features", "--", "-D", "warnings"]);
        steps::run(command)
    })
}

fn build_of_the_demo() -> Result<()> {
    steps::step("the demo's build", || demo::build(&Workspace::with_profile(demo::PROFILE)?))
}

/// The tests, with `compilation` beside those that time does not matter to.
fn tests(workspace: &Workspace, compilation: impl FnOnce() -> Result<()> + Send) -> Result<()> {
    let programs = steps::step("build of the tests", || programs::build(workspace))?;
    let mut tally = steps::step("tests", || jobs::run(workspace, &programs, compilation))?;
    tally += steps::step("tests in documentation", || documentation(workspace))?;
    // One of them is profiled, which only these builds can be.
    steps::step("examples", || examples::all(workspace))?;
    steps::step("services without fault injection and profiles", || without_faults::check(workspace))?;
    steps::step("what the demo's build lacks", lean::check)?;
    steps::step("demo --check", || demo_check::check(&Workspace::with_profile(demo::PROFILE)?))?;
    steps::step("instructions", || instructions::run(workspace, false))?;
    println!("{tally}");
    Ok(())
}

/// Rustdoc is asked only for libraries whose documentation has examples; `tidy` holds the others to having none.
fn documentation(workspace: &Workspace) -> Result<Tally> {
    let mut command = workspace.cargo();
    command.args(["test", "--locked", "--workspace", "--doc", "--no-fail-fast"]).args(FEATURES);
    let (tally, status) = steps::run_tests(command, &mut std::io::stdout())?;
    ensure!(status.success() && tally.failed == 0 && tally.passed > 0, "{tally} ({status})");
    Ok(tally)
}
