//! The processes of one case, in a folder of their own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::draw::Case;
use super::planted::Marks;
use xtask::child::Running;

const READY_WITHIN: Duration = Duration::from_secs(30);
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Servers that run; dropping them ends them.
pub(super) struct Servers {
    running: Vec<Running>,
    pub(super) address: SocketAddr,
    pub(super) backend: u16,
    /// What is requested.
    pub(super) path: String,
}

impl Servers {
    /// Starts what the case plants, and waits until it answers.
    ///
    /// # Errors
    /// When a process cannot start, or the path is not answered.
    pub(super) fn start(case: &Case<'_>, programs: &Path, folder: &Path) -> Result<Self> {
        let [port, backend] = free_ports()?;
        let programs = programs.to_str().context("the folder of the programs has a name that is no text")?;
        let marks = Marks { programs, port, backend, severity: case.severity };
        run(&marks.resolve(&case.planted.prepare), folder)?;
        if let Some(file) = &case.planted.file {
            fs::write(folder.join(&file.name), marks.resolve(&file.text))
                .with_context(|| format!("cannot write {}", file.name))?;
        }
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let path = marks.resolve(&case.planted.path);
        let mut servers = Servers { running: Vec::new(), address, backend, path };
        for command in &case.planted.start {
            let command = shell(&format!("exec {}", marks.resolve(command)), folder);
            servers.running.push(Running::start("a server", command)?);
        }
        let is_ready = peers::poll::until(READY_WITHIN, || peers::go::get(address, &servers.path).is_ok());
        ensure!(is_ready, "{} does not answer {} within 30 s", case.planted.service, servers.path);
        if let Some(fill) = &case.planted.fill {
            run(&marks.resolve(fill), folder)?;
        }
        Ok(servers)
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        while let Some(running) = self.running.pop() {
            // One that does not stop is killed.
            let _ended = running.stop(ENDS_WITHIN);
        }
    }
}

/// Runs a line of the shell to its end.
///
/// # Errors
/// When it ends with anything but 0.
pub(super) fn run(line: &str, folder: &Path) -> Result<()> {
    let status = shell(line, folder).status().context("cannot start a shell")?;
    ensure!(status.success(), "`{line}` ended with {status}");
    Ok(())
}

fn shell(line: &str, folder: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn free_ports() -> Result<[u16; 2]> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free");
    let listeners = [listen()?, listen()?];
    let [one, other] = listeners.each_ref().map(|listener| listener.local_addr());
    Ok([one?.port(), other?.port()])
}
