//! The challenge service as a child process on its embedded store.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow};

use crate::served::Served;
use crate::workspace::Workspace;

/// What the ready line says of an address, and its port by default with the variable that sets it.
const LISTENERS: [(&str, &str, u16); 4] = [
    ("http", "HTTP_PORT", 8000),
    ("grpc", "GRPC_PORT", 6565),
    ("events", "EVENTS_PORT", 6566),
    ("admin", "ADMIN_PORT", 8080),
];

/// Which ports the service gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ports {
    /// The documented ones, which the plan names.
    Default,
    /// Whichever the system has free; the service tells.
    Free,
}

/// A ready service; dropping it ends it.
pub(super) struct Service {
    served: Served,
    ports: Ports,
}

impl Service {
    /// Starts it and waits until it says that it is ready.
    ///
    /// # Errors
    /// When it cannot start, ends, or is not ready in time; with the end of its log.
    pub(super) fn start(workspace: &Workspace, ports: Ports) -> Result<Self> {
        let folder = workspace.scratch(match ports {
            Ports::Default => "demo",
            Ports::Free => "demo-check-service",
        })?;
        let mut command = Command::new(workspace.binary("challenge"));
        command.arg("all").current_dir(workspace.root());
        configure(&mut command, ports, &folder);
        Ok(Self { served: Served::start(command, folder.join("challenge.log"))?, ports })
    }

    /// `NAME=ADDRESS` for the plan's targets, where the plan's own addresses do not hold.
    pub(super) fn targets(&self) -> Result<Vec<String>> {
        if self.ports == Ports::Default {
            return Ok(Vec::new());
        }
        let http = self.served.address("http")?;
        let events = self.served.address("events")?;
        Ok(vec![format!("challenge=http://{http}/challenge"), format!("events={events}")])
    }

    /// Stops it politely.
    ///
    /// # Errors
    /// When it has ended before, ends with anything but 0, or has to be killed.
    pub(super) fn stop(self) -> Result<()> {
        self.served.stop()
    }
}

fn configure(command: &mut Command, ports: Ports, folder: &Path) {
    command.env("DATABASE_PATH", folder.join("challenge.db"));
    command.env("TEST_IDENTITY_HEADER", "on").env("BASE_PATH", "/challenge");
    if ports == Ports::Free {
        for (_, variable, _) in LISTENERS {
            command.env(variable, "0");
        }
    }
}

/// Fails with the name of the first default port that somebody holds.
pub(super) fn require_free_ports() -> Result<()> {
    LISTENERS.iter().try_for_each(|&(name, _, port)| require_free_port(name, port))
}

fn require_free_port(name: &str, port: u16) -> Result<()> {
    TcpListener::bind(("0.0.0.0", port)).map(drop).map_err(|error| {
        anyhow!("port {port}, the service's {name} port, cannot be had ({error}): stop what holds it and try again")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_port_is_named() {
        let held = TcpListener::bind(("0.0.0.0", 0)).expect("the system has a free port");
        let port = held.local_addr().expect("it is bound").port();
        let error = require_free_port("http", port).expect_err("it is held").to_string();
        assert!(
            error.starts_with(&format!("port {port}, the service's http port, cannot be had (")),
            "{error}"
        );
    }
}
