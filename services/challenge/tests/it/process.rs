//! The real binary in a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

use challenge::server::Addresses;

use crate::database::{PORTS, TestDatabase};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_challenge");

/// `challenge all` in a process of its own, ready.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) addresses: Addresses,
}

impl Process {
    pub(crate) fn start_with(database: &TestDatabase, settings: &[(&str, String)]) -> Self {
        let mut command = serving(database);
        command.envs(settings.iter().map(|(name, value)| (*name, value)));
        Self::started(&mut command, Stdio::null())
    }

    /// With its log written to `log`.
    pub(crate) fn start_logging(database: &TestDatabase, log: Stdio) -> Self {
        Self::started(&mut serving(database), log)
    }

    pub(crate) fn start_as(database: &TestDatabase, role: &str) -> Self {
        Self::started(&mut serving_as(database, role), Stdio::null())
    }

    pub(crate) fn started(command: &mut Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addresses = parsed(&line).unwrap_or_else(|| panic!("no ready line: {line:?}"));
        Self { child, addresses }
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn terminate(mut self) -> ExitStatus {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap()
    }
}

/// Kills the process when a test fails.
impl Drop for Process {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}

pub(crate) fn serving(database: &TestDatabase) -> Command {
    serving_as(database, "all")
}

pub(crate) fn serving_as(database: &TestDatabase, role: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.arg(role).env_clear().envs(PORTS).envs(database.env());
    command
}

pub(crate) fn parsed(line: &str) -> Option<Addresses> {
    let words: Vec<&str> = line.trim().strip_prefix("ready ")?.split(' ').collect();
    let at = |name: &str| words.iter().find_map(|word| word.strip_prefix(name))?.parse().ok();
    Some(Addresses { http: at("http="), grpc: at("grpc="), events: at("events="), admin: at("admin=")? })
}
