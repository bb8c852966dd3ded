//! What only builds without fault injection and profiles show: that there is nothing of either in them.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use xtask::workspace::Workspace;

use crate::steps;

/// A service, a text that its binary contains, and texts of its faults.
struct Service {
    name: &'static str,
    command: &'static str,
    present: &'static str,
    absent: &'static [&'static str],
}

const SERVICES: [Service; 3] = [
    Service {
        name: "challenge",
        command: "all",
        present: "TEST_IDENTITY_HEADER",
        absent: &["INJECT_FAULTS", "leak-descriptors", "goal-by-goal"],
    },
    Service {
        name: "gateway",
        command: "serve",
        present: "JOURNAL_SEGMENT_BYTES",
        absent: &[
            "INJECT_FAULTS",
            "leak-memory",
            "leak-descriptors",
            "boundless",
            "slow-sink",
            "failing-sync",
        ],
    },
    Service {
        name: "listings",
        command: "serve",
        present: "RATE_LIMIT_ON_FAILURE",
        absent: &["INJECT_FAULTS", "leak-descriptors", "stampede", "narrow-store", "read-then-write"],
    },
];

/// Builds the services without these features, which replaces them in the target folder, and looks.
///
/// # Errors
/// When a binary contains a fault, or starts with profiles.
pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo();
    // The test target brings in the features of development dependencies, so that only the services are compiled again.
    command.args(["build", "--locked", "--workspace", "--bins", "--test", "servers"]);
    steps::run(command)?;
    for service in &SERVICES {
        service.check(workspace)?;
        println!("{}: no fault injection, no profiles", service.name);
    }
    Ok(())
}

impl Service {
    fn check(&self, workspace: &Workspace) -> Result<()> {
        let path = workspace.binary(self.name);
        let binary = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let has = |text: &str| binary.windows(text.len()).any(|window| window == text.as_bytes());
        ensure!(has(self.present), "{} does not contain {}: the search is broken", self.name, self.present);
        for text in self.absent {
            ensure!(!has(text), "{} contains {text}, which belongs to fault injection", self.name);
        }
        self.refuses_profiles(workspace)
    }

    fn refuses_profiles(&self, workspace: &Workspace) -> Result<()> {
        let folder = workspace.scratch("without-faults")?;
        let mut command = Command::new(workspace.binary(self.name));
        command.arg(self.command).current_dir(folder).env("PROFILING", "on");
        let said = peers::service::refused(&mut command);
        ensure!(said.contains("--features profiling"), "{} with PROFILING=on said: {said}", self.name);
        Ok(())
    }
}
