//! One step of a chore: its name, its time, and the count of tests that cargo reports.

use std::io::{BufRead as _, BufReader, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

/// Runs `work` under its name and prints how long it took, also when it failed.
///
/// # Errors
/// Whatever `work` returns, with the step's name.
pub(crate) fn step<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {name}");
    let began = Instant::now();
    let result = work().with_context(|| format!("the step `{name}` failed"));
    let seconds = began.elapsed().as_secs_f64();
    let end = if result.is_ok() { "done" } else { "FAILED" };
    println!("==> {name}: {end} in {seconds:.1} s");
    result
}

/// Runs a command that prints on this terminal.
///
/// # Errors
/// When it cannot start or ends with anything but 0.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let status = command.status().with_context(|| format!("cannot start {program}"))?;
    ensure!(status.success(), "{program} ended with {status}");
    Ok(())
}

/// What a command prints on standard output.
///
/// # Errors
/// When it cannot start, ends with anything but 0, which is said with its errors, or prints no text.
pub(crate) fn printed(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {}", output.status, errors.trim());
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed no text"))
}

/// How many tests passed and failed, over every test binary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Tally {
    /// Adds what a line of cargo's output reports, if it is a result line.
    pub(crate) fn count(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let result = result.split_once(". ").map_or("", |(_, counts)| counts);
        for part in result.split(';') {
            match part.trim().split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Runs `cargo test …`, passing its output on to `terminal` as it comes.
///
/// # Errors
/// When cargo cannot start. Failed tests, and tests that did not compile, are in the second value.
pub(crate) fn run_tests(mut command: Command, terminal: &mut impl Write) -> Result<(Tally, ExitStatus)> {
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let output = child.stdout.take().context("its output is piped")?;
    let mut tally = Tally::default();
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    // A test may print anything, so lines are bytes until one looks like a result.
    while lines.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        tally.count(String::from_utf8_lossy(&line).trim_end());
        // A closed terminal is no reason to stop the tests.
        let _ = terminal.write_all(&line);
        line.clear();
    }
    let status = child.wait().context("cannot wait for cargo")?;
    Ok((tally, status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_result_lines_are_summed() {
        let mut tally = Tally::default();
        for line in [
            "running 3 tests",
            "test a ... ok",
            "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "the test result: ok. 9 passed; 9 failed;",
            "test result: FAILED. 10 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
            "test result: ",
            "test result: ok. many passed; x",
        ] {
            tally.count(line);
        }
        assert_eq!(tally.to_string(), "13 passed, 2 failed");
    }

    #[test]
    fn output_that_is_not_utf8_is_passed_on_and_counted() {
        let mut command = Command::new("sh");
        command
            .args(["-c", r"printf '\377\n'; echo 'test result: ok. 2 passed; 0 failed; 0 ignored'; exit 3"]);
        let mut terminal = Vec::new();
        let (tally, status) = run_tests(command, &mut terminal).expect("sh exists");
        assert!(terminal.starts_with(b"\xff\ntest result: ok."));
        assert_eq!((tally, status.code()), (Tally { passed: 2, failed: 0 }, Some(3)));
    }

    #[test]
    fn a_failing_step_is_named() {
        let error = step("shell", || {
            let mut command = Command::new("sh");
            command.args(["-c", "exit 3"]);
            run(command)
        });
        let error = error.expect_err("it exits with 3");
        assert_eq!(format!("{error:#}"), "the step `shell` failed: sh ended with exit status: 3");
    }
}
