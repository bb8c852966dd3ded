//! One start of a test program, with some of its tests.

use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};
use xtask::workspace::Workspace;

use crate::steps::Tally;
use crate::test::programs::TestProgram;

/// Which tests of a program run, and how many at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job<'a> {
    pub(super) program: &'a TestProgram,
    /// Further arguments: filters, `--skip`, `--exact`.
    pub(super) arguments: Vec<String>,
    /// A variable of its environment.
    pub(super) variable: Option<(&'static str, &'static str)>,
    pub(super) threads: usize,
}

/// What a job left.
pub(super) struct Ended<'a> {
    pub(super) job: Job<'a>,
    pub(super) tally: Tally,
    pub(super) failed_tests: Vec<String>,
    pub(super) status: ExitStatus,
}

impl<'a> Job<'a> {
    pub(super) fn name(&self) -> String {
        let variable = self.variable.map(|(name, value)| format!("{name}={value} ")).unwrap_or_default();
        format!("{variable}{} {}", self.program.name, self.arguments.join(" ")).trim_end().to_owned()
    }

    /// A job of these tests alone, one after the other; `None` where there are none.
    pub(super) fn again(&self, tests: &[String]) -> Option<Job<'a>> {
        if tests.is_empty() {
            return None;
        }
        let arguments = std::iter::once("--exact".to_owned()).chain(tests.iter().cloned()).collect();
        Some(Job { arguments, threads: 1, ..self.clone() })
    }

    /// Runs it, and prints its counts when it has ended, with its output if it failed.
    pub(super) fn run(self, workspace: &Workspace) -> Result<Ended<'a>> {
        let began = Instant::now();
        let mut command = Command::new(&self.program.executable);
        command.args(&self.arguments).arg(format!("--test-threads={}", self.threads));
        // As cargo starts tests.
        command.current_dir(&self.program.folder).env("CARGO_MANIFEST_DIR", &self.program.folder);
        command.env("CARGO", workspace.cargo().get_program()).stdin(Stdio::null());
        command.envs(self.variable);
        let output = command.output().with_context(|| format!("cannot start {}", self.name()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let (tally, failed_tests) = read(&text);
        let seconds = began.elapsed().as_secs_f64();
        let sign = if output.status.success() { "ok" } else { "FAILED" };
        println!("{sign:6} {seconds:6.1} s  {:>22}  {}", tally.to_string(), self.name());
        if !output.status.success() {
            println!("{text}{}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(Ended { job: self, tally, failed_tests, status: output.status })
    }
}

impl Ended<'_> {
    /// Whether the counts say why it ended as it did. A crash is not a failed test, and tests that were selected by name
    /// must be there; some programs have none.
    pub(super) fn is_explained(&self) -> bool {
        match self.status.success() {
            true => self.tally.passed > 0 || self.job.arguments.is_empty(),
            false => self.tally.failed > 0,
        }
    }
}

/// The counts of the result line, and the names of the tests that failed.
fn read(output: &str) -> (Tally, Vec<String>) {
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for line in output.lines() {
        tally.count(line);
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
            // A test that is expected to panic is named with this.
            failed.push(name.trim_end_matches(" - should panic").to_owned());
        }
    }
    (tally, failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_named_and_counted() {
        let output = "running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest d - should panic ... FAILED\n\n\
                      test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        let (tally, failed) = read(output);
        assert_eq!(tally, Tally { passed: 1, failed: 2 });
        assert_eq!(failed, ["a::c", "d"]);
    }

    #[test]
    fn a_crash_is_not_a_result() {
        use std::os::unix::process::ExitStatusExt as _;
        let program = TestProgram { name: "x".into(), executable: "x".into(), folder: "/".into() };
        let check = |filters: &[&str], passed, failed, code, expect| {
            let arguments = filters.iter().map(|&filter| filter.to_owned()).collect();
            let job = Job { program: &program, arguments, variable: None, threads: 1 };
            let (tally, failed_tests) = (Tally { passed, failed }, Vec::new());
            let ended = Ended { job, tally, failed_tests, status: ExitStatus::from_raw(code) };
            assert_eq!(ended.is_explained(), expect, "{passed} passed, {failed} failed, {code}");
        };
        check(&[], 2, 0, 0, true);
        check(&[], 0, 0, 0, true);
        check(&["gone::"], 0, 0, 0, false);
        check(&[], 1, 1, 101 << 8, true);
        check(&[], 0, 0, 11, false);
        check(&[], 2, 0, 101 << 8, false);
    }
}
