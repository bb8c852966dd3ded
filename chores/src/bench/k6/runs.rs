//! One run of a script by one of the two tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::bench::engine::measured::{self, Measured};
use crate::bench::{CpuPlacement, print_command};

/// What runs scripts, with its program.
pub(super) enum ScriptRunner {
    Plimsoll(PathBuf),
    K6(PathBuf),
}

/// A script and its load.
pub(super) struct ScriptRun<'a> {
    pub(super) script: &'a str,
    /// `HOST:PORT`, which the script reads as `__ENV.TARGET`.
    pub(super) target: String,
    /// Flags, the same for both tools.
    pub(super) load: &'a [String],
    /// How long it offers load.
    pub(super) seconds: u64,
    pub(super) folder: &'a Path,
}

impl ScriptRunner {
    pub(super) fn name(&self) -> &'static str {
        match self {
            ScriptRunner::Plimsoll(_) => "plimsoll",
            ScriptRunner::K6(_) => "k6",
        }
    }

    pub(super) fn is_ours(&self) -> bool {
        matches!(self, ScriptRunner::Plimsoll(_))
    }

    fn program(&self) -> &Path {
        let (ScriptRunner::Plimsoll(program) | ScriptRunner::K6(program)) = self;
        program
    }

    /// The version that it prints.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(super) fn version(&self) -> Result<String> {
        let output = Command::new(self.program()).arg("version").output();
        let output = output.with_context(|| format!("cannot start {}", self.program().display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Runs the script once.
    ///
    /// # Errors
    /// When the tool fails or one of the checks did.
    pub(super) fn run(&self, run: &ScriptRun<'_>, is_printed: bool) -> Result<Measured> {
        fs::write(run.folder.join("script.js"), run.script).context("cannot write the script")?;
        let mut command = CpuPlacement::GENERATOR.command(self.program());
        command.args(["run", "--quiet", "--summary-export=summary.json"]);
        match self {
            ScriptRunner::Plimsoll(_) => command.args(["--force", "--evidence=x.plimsoll"]),
            ScriptRunner::K6(_) => command.arg("--no-usage-report"),
        };
        command.args(run.load).arg(format!("--env=TARGET={}", run.target)).arg("script.js");
        if is_printed {
            print_command(&command);
        }
        let ended = measured::run(self.name(), command, run.folder, run.seconds)?;
        let summary = fs::read(run.folder.join("summary.json")).context("it left no summary")?;
        let summary: Value = serde_json::from_slice(&summary).context("its summary is not JSON")?;
        super::ensure_checked(&summary)?;
        let iterations = summary["metrics"]["iterations"]["count"].as_u64();
        let requests = iterations.context("its summary has no number of iterations")?;
        Ok(Measured { requests, cpu_s: ended.cpu_s, resident_mb: ended.resident_mb })
    }
}
