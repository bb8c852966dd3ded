//! One arm of an experiment, from its reset to its end.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use conduct::failure::Failure;
use conduct::signals::Listener;
use evidence::visible;
use workload::experiment::Arm;

use crate::group::{ProcessGroup, ShellCommand};

/// How often it is asked whether an arm is ready.
const POLL: Duration = Duration::from_millis(50);
/// The longest wait for one answer.
const ATTEMPT: Duration = Duration::from_secs(2);
/// The longest that a reset may take.
const RESET: Duration = Duration::from_secs(600);
/// How much of the end of a log is quoted.
const QUOTED_LINES: usize = 5;
const QUOTED_BYTES: usize = 2_000;

/// Why a run was not begun.
pub(crate) enum NotBegun {
    /// A signal came.
    Interrupted,
    /// The arm could not be made ready; why.
    NotReady(String),
    /// Our own failure.
    Failed(Failure),
}

impl From<Failure> for NotBegun {
    fn from(failure: Failure) -> NotBegun {
        NotBegun::Failed(failure)
    }
}

/// An arm and where it runs.
pub(crate) struct ArmPlace<'a> {
    pub(crate) arm: &'a Arm,
    /// Where its commands run.
    pub(crate) folder: &'a Path,
    /// Where the output of its commands goes.
    pub(crate) log: PathBuf,
    /// Where its targets listen, as host and port.
    pub(crate) addresses: Vec<(String, u16)>,
}

impl ArmPlace<'_> {
    /// Start it and wait until it is ready. Without a command that starts it, it runs already.
    pub(crate) fn begin(&self, listener: &Listener) -> Result<Option<ProcessGroup>, NotBegun> {
        let Some(start) = &self.arm.start else {
            return Ok(None);
        };
        if let Some(at) = self.is_taken() {
            return Err(NotBegun::NotReady(format!(
                "something answers at {at} before it is started; stop it first"
            )));
        }
        let mut group = self.command(start).start()?;
        self.wait(&mut group, listener)?;
        Ok(Some(group))
    }

    fn command<'c>(&'c self, command: &'c str) -> ShellCommand<'c> {
        let Arm { env, cpus, .. } = self.arm;
        ShellCommand { command, env, cpus: cpus.as_ref(), folder: self.folder, log: &self.log }
    }

    /// Set its state back.
    pub(crate) fn reset(&self, listener: &Listener) -> Result<(), NotBegun> {
        let Some(reset) = &self.arm.reset else { return Ok(()) };
        let mut group = self.command(reset).start()?;
        let began = Instant::now();
        let status = loop {
            if let Some(status) = group.ended() {
                break status;
            }
            if listener.interrupted() {
                return Err(NotBegun::Interrupted);
            }
            if began.elapsed() > RESET {
                return Err(NotBegun::NotReady(format!("its reset takes longer than {RESET:?}")));
            }
            thread::sleep(POLL);
        };
        group.stop(Duration::ZERO);
        match status.success() {
            true => Ok(()),
            false => Err(NotBegun::NotReady(format!("its reset failed ({status}){}", self.last_output()))),
        }
    }

    fn wait(&self, group: &mut ProcessGroup, listener: &Listener) -> Result<(), NotBegun> {
        let began = Instant::now();
        loop {
            let missing = match self.check() {
                Ok(()) => return Ok(()),
                Err(missing) => missing,
            };
            if let Some(status) = group.ended() {
                return Err(NotBegun::NotReady(format!(
                    "its command ended ({status}) before it was ready{}",
                    self.last_output()
                )));
            }
            if listener.interrupted() {
                return Err(NotBegun::Interrupted);
            }
            if began.elapsed() > self.arm.ready_within {
                let within = self.arm.ready_within;
                return Err(NotBegun::NotReady(format!(
                    "it was not ready within {within:?}: {missing}{}",
                    self.last_output()
                )));
            }
            thread::sleep(POLL);
        }
    }

    /// Whether it is ready; else what is missing.
    fn check(&self) -> Result<(), String> {
        if let Some(url) = &self.arm.ready {
            return answers_2xx(url);
        }
        self.addresses.iter().try_for_each(|(host, port)| {
            connect(host, *port)
                .map(drop)
                .map_err(|error| format!("nothing answers at {host}:{port} ({error})"))
        })
    }

    /// Where something answers already.
    fn is_taken(&self) -> Option<String> {
        let of_ready = self.arm.ready.as_deref().and_then(host_and_port).map(|(host, port, _)| (host, port));
        let addresses = self.addresses.iter().cloned().chain(of_ready);
        addresses
            .into_iter()
            .find(|(host, port)| connect(host, *port).is_ok())
            .map(|(host, port)| format!("{host}:{port}"))
    }

    /// The end of its output, as the end of a sentence.
    fn last_output(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        let end = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(QUOTED_BYTES)..]).into_owned();
        let lines: Vec<&str> = end.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(QUOTED_LINES)..];
        match last.is_empty() {
            true => String::new(),
            false => format!("; its output ends with: {}", visible(&last.join(" | "))),
        }
    }
}

/// The targets of a plan that have an address of their own, as host and port.
pub(crate) fn addresses(workload: &workload::Workload) -> Vec<(String, u16)> {
    let of_target = |target: &workload::Target| -> Vec<(String, u16)> {
        let http = target.http.as_ref().map(|http| (http.host.clone(), http.port));
        let grpc = target.grpc.as_ref().map(|grpc| (grpc.host.clone(), grpc.port));
        http.into_iter().chain(grpc).collect()
    };
    let unique: BTreeMap<(String, u16), ()> =
        workload.targets.values().flat_map(of_target).map(|at| (at, ())).collect();
    unique.into_keys().collect()
}

fn connect(host: &str, port: u16) -> std::io::Result<TcpStream> {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut last = std::io::Error::new(ErrorKind::NotFound, "its name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ATTEMPT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Host, port and path of a URL of HTTP.
fn host_and_port(url: &str) -> Option<(String, u16, &str)> {
    let rest = url.strip_prefix("http://")?;
    let (authority, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    let (host, port) = workload::address::authority_of(authority, Some(80)).ok()?;
    Some((host.to_owned(), port, path))
}

/// Whether a GET of `url` is answered with 2xx.
fn answers_2xx(url: &str) -> Result<(), String> {
    let (host, port, path) =
        host_and_port(url).ok_or_else(|| format!("`{}` is not a URL of HTTP", visible(url)))?;
    let wrong = |error: std::io::Error| format!("{} does not answer ({error})", visible(url));
    let mut stream = connect(&host, port).map_err(wrong)?;
    stream.set_read_timeout(Some(ATTEMPT)).map_err(wrong)?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}:{port}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).map_err(wrong)?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).map_err(wrong)?;
    let status = String::from_utf8_lossy(&head).into_owned();
    match status.get(9..10) {
        Some("2") => Ok(()),
        _ => Err(format!("{} answers `{}`", visible(url), visible(&status))),
    }
}
