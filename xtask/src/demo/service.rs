//! The challenge service as a child process on its embedded store.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::child::Running;
use crate::workspace::Workspace;

/// A fresh store is made and ten challenges are read within a second; slow disks get the rest.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Longer than the service's own limit for draining.
const STOP_WITHIN: Duration = Duration::from_secs(30);

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
    running: Running,
    ports: Ports,
    ready: String,
    log: PathBuf,
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
        let log = folder.join("challenge.log");
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(workspace.binary("challenge"));
        command.arg("all").current_dir(workspace.root()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(file.try_clone().context("cannot share the log")?);
        configure(&mut command, ports, &folder);
        // Ctrl-C is for the run alone: the service must answer until the run has drained.
        command.process_group(0);
        let mut running = Running::start("challenge", command)?;
        let output = running.child().stdout.take().context("its output was asked for")?;
        let ready = ready_line(&listen(output, file)).map_err(|why| anyhow!("{why}; {}", tail(&log)))?;
        Ok(Self { running, ports, ready, log })
    }

    /// `NAME=ADDRESS` for the plan's targets, where the plan's own addresses do not hold.
    pub(super) fn targets(&self) -> Result<Vec<String>> {
        if self.ports == Ports::Default {
            return Ok(Vec::new());
        }
        let http = address(&self.ready, "http")?;
        let events = address(&self.ready, "events")?;
        Ok(vec![format!("challenge=http://{http}/challenge"), format!("events={events}")])
    }

    /// Stops it politely.
    ///
    /// # Errors
    /// When it has ended before, ends with anything but 0, or has to be killed.
    pub(super) fn stop(mut self) -> Result<()> {
        if let Some(status) = self.running.ended()? {
            bail!("the service ended on its own with {status}; {}", tail(&self.log));
        }
        let status = self.running.stop(STOP_WITHIN)?;
        ensure!(status.success(), "the service stopped with {status}; {}", tail(&self.log));
        Ok(())
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

/// Keeps the service's output flowing into its log for as long as it speaks, and passes on its ready line.
fn listen(output: ChildStdout, mut log: File) -> Receiver<String> {
    let (sender, ready) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            // The log is a convenience; and after the first line nobody listens any more.
            let _ = writeln!(log, "{line}");
            if line.starts_with("ready ") {
                let _ = sender.send(line.into_owned());
            }
        }
    });
    ready
}

fn ready_line(ready: &Receiver<String>) -> Result<String, String> {
    ready.recv_timeout(READY_WITHIN).map_err(|error| match error {
        RecvTimeoutError::Timeout => format!("the service was not ready within {} s", READY_WITHIN.as_secs()),
        RecvTimeoutError::Disconnected => "the service ended before it was ready".to_owned(),
    })
}

/// The `HOST:PORT` that a ready line such as `ready http=127.0.0.1:8000 events=127.0.0.1:6566` gives.
fn address<'a>(ready: &'a str, name: &str) -> Result<&'a str> {
    let words = ready.split_whitespace().filter_map(|word| word.split_once('='));
    words
        .filter(|(key, _)| *key == name)
        .map(|(_, address)| address)
        .next()
        .with_context(|| format!("the service's ready line names no `{name}` address: {ready}"))
}

fn tail(log: &Path) -> String {
    const LINES: usize = 10;
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join("\n  ");
    format!("the end of {}:\n  {last}", log.display())
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

    #[test]
    fn addresses_are_read_from_the_ready_line() {
        let ready = "ready http=127.0.0.1:8000 events=127.0.0.1:6566";
        assert_eq!(address(ready, "events").expect("it is there"), "127.0.0.1:6566");
        let error = address(ready, "admin").expect_err("it is not there").to_string();
        assert_eq!(error, format!("the service's ready line names no `admin` address: {ready}"));
    }

    #[test]
    fn a_service_that_ends_early_is_told_from_a_slow_one() {
        let mut child = Command::new("sh")
            .args(["-c", "echo not yet"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh exists");
        let output = child.stdout.take().expect("piped");
        let log = File::options().write(true).open("/dev/null").expect("it exists");
        let ready = ready_line(&listen(output, log));
        child.wait().expect("it ends");
        assert_eq!(ready, Err("the service ended before it was ready".to_owned()));
    }
}
