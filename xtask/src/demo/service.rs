//! The challenge service as a child process on its embedded store.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow};

use crate::service_process::ServiceProcess;
use crate::workspace::Workspace;

struct ServicePort {
    /// In the ready line.
    name: &'static str,
    /// The environment variable that sets it.
    variable: &'static str,
    default: u16,
}

const PORTS: [ServicePort; 4] = [
    ServicePort { name: "http", variable: "HTTP_PORT", default: 8000 },
    ServicePort { name: "grpc", variable: "GRPC_PORT", default: 6565 },
    ServicePort { name: "events", variable: "EVENTS_PORT", default: 6566 },
    ServicePort { name: "admin", variable: "ADMIN_PORT", default: 8080 },
];

/// Which ports the service gets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ports {
    /// The documented ones, which are in the plan.
    Default,
    /// Free ones, which the service prints in its ready line.
    Free,
}

/// A ready service; dropping it ends it.
pub struct Service {
    served: ServiceProcess,
    ports: Ports,
}

impl Service {
    /// Starts it and waits for its ready line.
    ///
    /// # Errors
    /// When it cannot start, ends, or is not ready in time; with the end of its log.
    pub fn start(workspace: &Workspace, ports: Ports) -> Result<Self> {
        Self::start_with(workspace, ports, &[])
    }

    /// The same with further settings.
    ///
    /// # Errors
    /// As [`Service::start`].
    pub fn start_with(workspace: &Workspace, ports: Ports, settings: &[(&str, &str)]) -> Result<Self> {
        let folder = workspace.scratch(match ports {
            Ports::Default => "demo",
            Ports::Free => "demo-check-service",
        })?;
        let mut command = Command::new(workspace.binary("challenge"));
        command.arg("all").current_dir(workspace.root());
        configure(&mut command, ports, &folder);
        command.envs(settings.iter().copied());
        Ok(Self { served: ServiceProcess::start(command, folder.join("challenge.log"))?, ports })
    }

    /// `NAME=ADDRESS` for the plan's targets, unless the service is at the plan's own addresses.
    pub fn targets(&self) -> Result<Vec<String>> {
        if self.ports == Ports::Default {
            return Ok(Vec::new());
        }
        let http = self.served.address("http")?;
        let events = self.served.address("events")?;
        Ok(vec![format!("challenge=http://{http}/challenge"), format!("events={events}")])
    }

    /// The `HOST:PORT` of its admin port.
    ///
    /// # Errors
    /// When its ready line has none.
    pub fn admin(&self) -> Result<&str> {
        self.served.address("admin")
    }

    /// Stops it with SIGTERM.
    ///
    /// # Errors
    /// When it has ended before, ends with anything but 0, or has to be killed.
    pub fn stop(self) -> Result<()> {
        self.served.stop()
    }
}

fn configure(command: &mut Command, ports: Ports, folder: &Path) {
    command.env("DATABASE_PATH", folder.join("challenge.db"));
    command.env("TEST_IDENTITY_HEADER", "on").env("BASE_PATH", "/challenge");
    if ports == Ports::Free {
        for port in PORTS {
            command.env(port.variable, "0");
        }
    }
}

/// Fails with the name of the first default port that is in use.
pub fn require_free_ports() -> Result<()> {
    PORTS.iter().try_for_each(|port| require_free_port(port.name, port.default))
}

fn require_free_port(name: &str, port: u16) -> Result<()> {
    TcpListener::bind(("0.0.0.0", port)).map(drop).map_err(|error| {
        anyhow!(
            "port {port}, the service's {name} port, is not free ({error}): stop what uses it and try again"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named() {
        let listener = TcpListener::bind(("0.0.0.0", 0)).expect("the system has a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let error = require_free_port("http", port).expect_err("it is in use").to_string();
        assert!(
            error.starts_with(&format!("port {port}, the service's http port, is not free (")),
            "{error}"
        );
    }
}
