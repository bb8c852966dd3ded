//! The service as a process.

use std::process::{Command, ExitStatus, Stdio};

use listings::server::Addresses;
use peers::service::ServiceProcess;

use crate::test_store::{BASE_SETTINGS, TestStore};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_listings");

/// A process of `listings serve` that is ready.
pub(crate) struct Process {
    pub(crate) service: ServiceProcess,
    pub(crate) addresses: Addresses,
}

impl Process {
    pub(crate) fn start(store: &TestStore) -> Self {
        Self::spawn(&mut serve_command(store), Stdio::null())
    }

    pub(crate) fn spawn(command: &mut Command, log: Stdio) -> Self {
        let service = ServiceProcess::start(command, log).unwrap();
        let [grpc, http] = ["grpc", "http"].map(|name| service.address(name).unwrap());
        Self { service, addresses: Addresses { grpc, http, admin: None } }
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(self) {
        self.service.kill();
    }

    pub(crate) fn terminate(self) -> ExitStatus {
        self.service.terminate().unwrap()
    }
}

pub(crate) fn serve_command(store: &TestStore) -> Command {
    let mut command = Command::new(BINARY);
    command.arg("serve").env_clear().envs(BASE_SETTINGS).envs(store.env());
    command
}
