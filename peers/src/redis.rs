//! Redis, as it is installed on this machine: one server without any data, which keeps nothing on disk.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::error::{PeerError, Tried as _};
use crate::guard::{Guard, Watched};
use crate::{poll, port, processes};

/// Another process may take the port that was found before the server does.
const START_ATTEMPTS: usize = 5;
const READY_WITHIN: Duration = Duration::from_secs(20);
const STOPPED_WITHIN: Duration = Duration::from_secs(10);
const PLACES: [&str; 3] = ["/usr/bin", "/usr/local/bin", "/opt/redis/bin"];
const PID_FILE: &str = "redis.pid";

/// A running server. Dropping it ends it and removes its folder; if this process ends without that, a guard does.
pub struct Redis {
    child: Child,
    port: u16,
    settings: Vec<(String, String)>,
    _guard: Guard,
    folder: TempDir,
}

impl Redis {
    /// Whether it is installed.
    pub fn is_installed() -> bool {
        find().is_some()
    }

    /// Starts one with these settings besides those that keep it on this machine and off the disk, each as
    /// `redis.conf` names it.
    ///
    /// # Errors
    /// When it is missing or does not start; with its log.
    pub fn start(settings: &[(&str, &str)]) -> Result<Self, PeerError> {
        let folder = TempDir::with_prefix("peers-redis-").tried(|| "make a temporary folder".to_owned())?;
        let watched = Watched { folder: folder.path(), pid_file: PID_FILE, name: "redis-server" };
        let guard = Guard::start(Command::new("sh"), &watched)?;
        let settings: Vec<_> =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut attempts = 1;
        loop {
            let port = port::free().ok_or_else(no_free_port)?;
            match run(folder.path(), port, &settings) {
                Ok(child) => return Ok(Redis { child, port, settings, _guard: guard, folder }),
                Err(error) if attempts == START_ATTEMPTS => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// Starts one that listens under TLS too, with this certificate and key (files of PEM); clients need no certificate.
    /// The second is the address under TLS.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_tls(certificate: &Path, key: &Path) -> Result<(Self, SocketAddr), PeerError> {
        let [certificate, key] = [certificate, key].map(|file| file.display().to_string());
        let port = port::free().ok_or_else(no_free_port)?;
        let redis = Self::start(&[
            ("tls-port", &port.to_string()),
            ("tls-cert-file", &certificate),
            ("tls-key-file", &key),
            ("tls-ca-cert-file", &certificate),
            ("tls-auth-clients", "no"),
        ])?;
        Ok((redis, (Ipv4Addr::LOCALHOST, port).into()))
    }

    /// Ends it at once; it can be started again.
    pub fn stop(&mut self) {
        processes::send(Pid::from_child(&self.child), Signal::TERM);
        if !poll::until(STOPPED_WITHIN, || matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))) {
            processes::kill(Pid::from_child(&self.child));
            let _reaped = self.child.wait();
        }
    }

    /// Starts it again after [`stop`](Self::stop) on the same port: another process, without the data of the last.
    ///
    /// # Errors
    /// When it does not start; with its log.
    pub fn start_again(&mut self) -> Result<(), PeerError> {
        self.child = run(self.folder.path(), self.port, &self.settings)?;
        Ok(())
    }

    /// Stops its process (SIGSTOP): connections stay open and nothing answers.
    pub fn pause(&self) {
        processes::send(Pid::from_child(&self.child), Signal::STOP);
    }

    /// Ends a [`pause`](Self::pause).
    pub fn resume(&self) {
        processes::send(Pid::from_child(&self.child), Signal::CONT);
    }

    /// Its process, as the system numbers it.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.resume();
        self.stop();
    }
}

fn no_free_port() -> PeerError {
    PeerError::System { what: "find a free port".to_owned(), source: std::io::ErrorKind::AddrInUse.into() }
}

fn find() -> Option<PathBuf> {
    PLACES.iter().map(|place| Path::new(place).join("redis-server")).find(|path| path.exists())
}

/// Starts it and waits until it answers.
fn run(folder: &Path, port: u16, settings: &[(String, String)]) -> Result<Child, PeerError> {
    let program = find().ok_or_else(|| PeerError::Missing {
        program: "redis-server",
        looked: PLACES.join(", "),
        package: "redis-server",
    })?;
    let log = folder.join("log");
    let output = File::create(&log).tried(|| format!("make {}", log.display()))?;
    let mut command = Command::new(program);
    command.current_dir(folder).args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
    command.args(["--save", "", "--appendonly", "no", "--pidfile"]).arg(folder.join(PID_FILE));
    for (name, value) in settings {
        command.arg(format!("--{name}")).arg(value);
    }
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::null());
    // Ctrl-C must reach only our own process.
    command.process_group(0);
    let mut child = command.spawn().tried(|| "start Redis".to_owned())?;
    let is_ready = poll::find(READY_WITHIN, || match child.try_wait() {
        Ok(None) => answers(port).then_some(true),
        _ => Some(false),
    });
    if is_ready == Some(true) {
        return Ok(child);
    }
    processes::kill(Pid::from_child(&child));
    let _reaped = child.wait();
    let log = std::fs::read_to_string(log).unwrap_or_default();
    Err(PeerError::Server { what: "Redis ended before it was ready".to_owned(), log })
}

/// Whether a Redis listens there: it answers, if only that it needs a password.
fn answers(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { return false };
    let mut first = [0];
    let sent =
        stream.set_read_timeout(Some(Duration::from_secs(1))).and_then(|()| stream.write_all(b"PING\r\n"));
    sent.and_then(|()| stream.read_exact(&mut first)).is_ok() && matches!(first[0], b'+' | b'-')
}
