//! The real binary in a process of its own.

use std::process::{Command, ExitStatus, Stdio};

use challenge::server::Addresses;
use peers::service::ServiceProcess;

use crate::database::{PORTS, TestDatabase};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_challenge");

/// `challenge all` in a process of its own, ready.
pub(crate) struct Process {
    pub(crate) service: ServiceProcess,
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
        let service = ServiceProcess::start(command, log).unwrap();
        let [http, grpc, events, admin] =
            ["http", "grpc", "events", "admin"].map(|name| service.address(name));
        Self { service, addresses: Addresses { http, grpc, events, admin: admin.unwrap() } }
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(self) {
        self.service.kill();
    }

    pub(crate) fn terminate(self) -> ExitStatus {
        self.service.terminate().unwrap()
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
