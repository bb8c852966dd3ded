//! The real binary in a process of its own.

use std::process::{Command, ExitStatus, Stdio};

use peers::service::ServiceProcess;

use crate::support::{Client, PORTS};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_gateway");

/// `gateway serve` in a process of its own, ready.
pub(crate) struct Process {
    pub(crate) service: ServiceProcess,
    pub(crate) client: Client,
    pub(crate) admin: Client,
}

impl Process {
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        Self::started(&mut serving(settings), Stdio::null())
    }

    pub(crate) fn started(command: &mut Command, log: Stdio) -> Self {
        let service = ServiceProcess::start(command, log).unwrap();
        let [client, admin] =
            ["http", "admin"].map(|name| Client { address: service.address(name).unwrap() });
        Self { service, client, admin }
    }

    /// Ends the process like `kill -9`.
    pub(crate) fn kill(self) {
        self.service.kill();
    }

    pub(crate) fn terminate(self) -> ExitStatus {
        self.service.terminate().unwrap()
    }
}

pub(crate) fn serving(settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(PORTS).envs(settings.iter().copied());
    command
}
