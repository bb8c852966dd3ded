//! A target of the testbed as a process, for benchmarks and counts.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::print_command;
use xtask::child::Running;
use xtask::workspace::Workspace;

/// A target that listens; dropping it ends it.
pub(crate) struct TestbedTarget {
    pub(crate) address: String,
    running: Running,
    output: BufReader<ChildStdout>,
}

impl TestbedTarget {
    /// Starts it with these arguments.
    ///
    /// # Errors
    /// When it cannot start or listen.
    pub(crate) fn start(workspace: &Workspace, arguments: &[&str]) -> Result<Self> {
        let program = workspace.binary("testbed");
        ensure!(program.exists(), "{} is missing: the tests build it", program.display());
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        print_command(&command);
        let mut running = Running::start("the target", command)?;
        let mut output = BufReader::new(running.child().stdout.take().context("its output is piped")?);
        Ok(Self { address: first_line(&mut output)?, running, output })
    }

    /// Waits for the target, which ends by itself, and prints its own measurements.
    ///
    /// # Errors
    /// When its output cannot be read.
    pub(crate) fn print_log(self, name: &str) -> Result<()> {
        let Self { running, mut output, .. } = self;
        running.wait()?;
        let mut log = String::new();
        output.read_to_string(&mut log).context("cannot read the target's output")?;
        println!("the target ({name}): {}", log.trim());
        Ok(())
    }
}

fn first_line(output: &mut BufReader<ChildStdout>) -> Result<String> {
    let mut line = String::new();
    output.read_line(&mut line).context("cannot read the target's address")?;
    let line = line.trim();
    ensure!(!line.is_empty(), "the target ended before it listened");
    Ok(line.to_owned())
}
