//! The service as a process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

use listings::server::Addresses;

use crate::test_store::{BASE_SETTINGS, TestStore};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_listings");

/// A process of `listings serve` that is ready.
pub(crate) struct Process {
    pub(crate) child: Child,
    pub(crate) addresses: Addresses,
}

impl Process {
    pub(crate) fn start(store: &TestStore) -> Self {
        Self::spawn(&mut serve_command(store), Stdio::null())
    }

    pub(crate) fn spawn(command: &mut Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let addresses = parse_addresses(&line).unwrap_or_else(|| panic!("no ready line: {line:?}"));
        Self { child, addresses }
    }

    /// Kills it with SIGKILL.
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

/// Ends the process also when the test fails.
impl Drop for Process {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}

pub(crate) fn serve_command(store: &TestStore) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(BASE_SETTINGS).envs(store.env());
    command
}

fn parse_addresses(line: &str) -> Option<Addresses> {
    let words: Vec<&str> = line.trim().strip_prefix("ready ")?.split(' ').collect();
    let address = |name: &str| words.iter().find_map(|word| word.strip_prefix(name))?.parse().ok();
    Some(Addresses { grpc: address("grpc=")?, http: address("http=")?, admin: None })
}
