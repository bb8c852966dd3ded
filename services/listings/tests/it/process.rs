//! The real binary in a process of its own.

use crate::home::{Home, PORTS};
use listings::server::Addresses;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_listings");

/// `listings serve` in a process of its own, ready.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) addresses: Addresses,
}

impl Process {
    pub(crate) fn start(home: &Home) -> Self {
        Self::started(&mut serving(home), Stdio::null())
    }

    pub(crate) fn started(command: &mut Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addresses = parsed(&line).unwrap_or_else(|| panic!("no ready line: {line:?}"));
        Self { child, addresses }
    }

    /// As `kill -9`.
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

/// A failed test leaves no process behind.
impl Drop for Process {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}

pub(crate) fn serving(home: &Home) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(PORTS).envs(home.env());
    command
}

fn parsed(line: &str) -> Option<Addresses> {
    let words: Vec<&str> = line.trim().strip_prefix("ready ")?.split(' ').collect();
    let at = |name: &str| words.iter().find_map(|word| word.strip_prefix(name))?.parse().ok();
    Some(Addresses { grpc: at("grpc=")?, http: at("http=")? })
}
