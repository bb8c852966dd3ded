//! The server's process, from its start to its end.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::run::last_lines;
use crate::error::{PeerError, Tried as _};
use crate::{poll, processes};

/// Starting takes a tenth of a second; recovering after a kill under load takes the rest.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// A fast stop writes a checkpoint.
const STOPPED_WITHIN: Duration = Duration::from_secs(60);
/// An immediate one does not, and kills its children after 5 s itself.
const QUIT_WITHIN: Duration = Duration::from_secs(10);
const LOG_LINES: usize = 20;

/// Inside the data folder: the process id is its first line, the server's state its eighth.
pub(super) const PID_FILE: &str = "postmaster.pid";

/// A running server. Dropping it ends it without a checkpoint.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts `postgres` and waits until it takes connections.
    pub(super) fn start(mut postgres: Command, data: &Path, log: &Path) -> Result<Self, PeerError> {
        let tried = || format!("write {}", log.display());
        let stderr = File::options().create(true).append(true).open(log).tried(tried)?;
        let stdout = stderr.try_clone().tried(tried)?;
        postgres.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        // Ctrl-C must reach only our own process: the server is in use until its owner or its guard ends it.
        postgres.process_group(0);
        let child = postgres.spawn().tried(|| "start PostgreSQL".to_owned())?;
        let mut server = Self { child, log: log.to_owned() };
        let pid_file = data.join(PID_FILE);
        let readiness = poll::find(READY_WITHIN, || server.readiness(&pid_file));
        readiness.unwrap_or_else(|| {
            let seconds = READY_WITHIN.as_secs();
            Err(server.failed(format!("PostgreSQL took no connections within {seconds} s")))
        })?;
        Ok(server)
    }

    /// `None` while it is neither ready nor ended.
    fn readiness(&mut self, pid_file: &Path) -> Option<Result<(), PeerError>> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(Err(self.failed(format!("PostgreSQL ended with {status} before it was ready"))));
        }
        let text = std::fs::read_to_string(pid_file).ok()?;
        let line = |number: usize| text.lines().nth(number - 1).map(str::trim);
        let is_ours = line(1)?.parse() == Ok(self.child.id());
        (is_ours && line(8)? == "ready").then_some(Ok(()))
    }

    /// Ends sessions, writes a checkpoint, and waits for the end.
    pub(super) fn stop(mut self) -> Result<(), PeerError> {
        self.resume();
        processes::send(self.pid(), Signal::INT);
        match poll::find(STOPPED_WITHIN, || self.child.try_wait().ok().flatten()) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(self.failed(format!("PostgreSQL stopped with {status}"))),
            None => {
                let seconds = STOPPED_WITHIN.as_secs();
                Err(self.failed(format!("PostgreSQL did not stop within {seconds} s")))
            }
        }
    }

    /// Kills every process of the server, as the kernel does when memory is exhausted.
    pub(super) fn kill(&mut self) {
        if !self.has_ended() {
            processes::kill(self.pid());
            let _reaped = self.child.wait();
        }
    }

    /// Stops every process of it (SIGSTOP).
    pub(super) fn pause(&self) {
        processes::pause(self.pid());
    }

    /// Continues them (SIGCONT).
    pub(super) fn resume(&self) {
        processes::resume(self.pid());
    }

    /// The child is reaped only by `try_wait` and `wait` here, so its id is not another's.
    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))
    }

    fn failed(&self, what: String) -> PeerError {
        let log = std::fs::read(&self.log).unwrap_or_default();
        PeerError::Server { what, log: last_lines(&String::from_utf8_lossy(&log), LOG_LINES) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.has_ended() {
            return;
        }
        processes::send(self.pid(), Signal::QUIT);
        self.resume();
        if !poll::until(QUIT_WITHIN, || self.has_ended()) {
            self.kill();
        }
    }
}
