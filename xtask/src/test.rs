//! Every check that a change must pass: what the README documents and what CI runs.

use std::io::Write;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::workspace::Workspace;
use crate::{demo, dependencies, needs, steps, tidy};

/// What the verb is for.
pub(crate) const ABOUT: &str = "all checks: format, tidy, lints, dependencies, tests (those with fault injection and profiles too), the demo and the plans of `examples/` in a short form; ends with `N passed, N failed`";
/// What its stricter form is for.
pub(crate) const ABOUT_CI: &str = "the same, with the lock file taken as it is";

/// The services built with fault injection and profiles.
const FAULTS: &[&str] = &[
    "--package",
    "kit",
    "--package",
    "challenge",
    "--package",
    "gateway",
    "--package",
    "listings",
    "--features",
    "kit/faults,challenge/faults,gateway/faults,listings/faults,\
     kit/profiling,challenge/profiling,gateway/profiling,listings/profiling",
];

/// Whether the lock file may be changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    MayChange,
    Fixed,
}

/// All checks.
///
/// # Errors
/// At the first step that fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    checks(workspace, arguments, Lock::MayChange)
}

/// All checks, and a lock file that fits the manifests.
///
/// # Errors
/// At the first step that fails.
pub(crate) fn run_ci(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    checks(workspace, arguments, Lock::Fixed)
}

fn checks(workspace: &Workspace, arguments: &[String], lock: Lock) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("takes no arguments, got `{unknown}`");
    }
    let cargo = |arguments: &[&str]| {
        let mut command = workspace.cargo();
        command.args(arguments);
        if lock == Lock::Fixed {
            command.arg("--locked");
        }
        command
    };
    steps::step("needs", || needs::provide(needs::NEEDS))?;
    steps::step("format", || {
        let mut command = workspace.cargo();
        command.args(["fmt", "--all", "--check"]);
        steps::run(command)
    })?;
    steps::step("tidy", || tidy::run(workspace, &[]))?;
    steps::step("clippy", || {
        let mut command = cargo(&["clippy", "--workspace", "--all-targets"]);
        command.args(["--", "-D", "warnings"]);
        steps::run(command)
    })?;
    // As the demo builds the tool. The selection of the whole workspace keeps all else as it is.
    steps::step("clippy without scripts", || {
        let mut command = cargo(&["clippy", "--workspace", "--no-default-features", "--bin", "plimsoll"]);
        command.args(["--", "-D", "warnings"]);
        steps::run(command)
    })?;
    steps::step("dependencies", || dependencies::check(workspace))?;
    let mut tally = steps::step("tests", || {
        tests(cargo(&["test", "--workspace", "--no-fail-fast"]), &mut std::io::stdout())
    })?;
    // Built again with code that other builds must not contain, or need not.
    tally += steps::step("fault injection and profiles", || {
        let mut command = cargo(&["clippy", "--all-targets"]);
        command.args(FAULTS).args(["--", "-D", "warnings"]);
        steps::run(command)?;
        let mut command = cargo(&["test", "--no-fail-fast"]);
        command.args(FAULTS).args(["--", "injected_fault", "faults::tests", "profil"]);
        tests(command, &mut std::io::stdout())
    })?;
    steps::step("demo --check", || demo::check(workspace))?;
    steps::step("examples", || demo::examples::all(workspace))?;
    println!("{tally}");
    Ok(())
}

fn tests(command: Command, terminal: &mut impl Write) -> Result<steps::Tally> {
    let (tally, status) = steps::run_tests(command, terminal)?;
    ensure!(status.success() && tally.failed == 0, "{tally} ({status})");
    ensure!(tally.passed > 0, "cargo ran no test at all");
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expect: Result<&str, &str>) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let got = tests(command, &mut std::io::sink());
        let got = got.map(|tally| tally.to_string()).map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), expect);
    }

    #[test]
    fn success_needs_tests_that_ran_and_exit_code_0() {
        let line = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored'";
        check(line, Ok("2 passed, 0 failed"));
        check(&format!("{line}; exit 101"), Err("2 passed, 0 failed (exit status: 101)"));
        check("true", Err("cargo ran no test at all"));
    }
}
