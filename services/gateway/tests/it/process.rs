//! The real binary in a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::support::{Client, PORTS};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_gateway");

/// `gateway serve` in a process of its own, ready.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) client: Client,
    pub(crate) admin: Client,
}

impl Process {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        Self::started(serving(settings).stderr(Stdio::null()))
    }

    pub(crate) fn started(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let words: Vec<&str> = line.trim().strip_prefix("ready ").unwrap_or_default().split(' ').collect();
        let at = |name: &str| {
            let address = words.iter().find_map(|word| word.strip_prefix(name)?.parse().ok());
            Client { address: address.unwrap_or_else(|| panic!("no ready line: {line:?}")) }
        };
        Self { client: at("http="), admin: at("admin="), child }
    }

    /// Ends the process like `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn terminate(mut self) -> ExitStatus {
        let sent = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap()
    }

    /// The number in a line of the process's `/proc/PID/status`.
    #[allow(dead_code, reason = "only builds with fault injection check memory")]
    pub(crate) fn status_number(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    }
}

/// A failed test leaves no process behind.
impl Drop for Process {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}

pub(crate) fn serving(settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(PORTS).envs(settings.iter().copied());
    command
}
