//! A service as a process of its own, for its tests: started until it says that it is ready, measured, and ended.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal};

use crate::error::{PeerError, Tried as _};
use crate::go::{self, Toolchain};
use crate::processes;

/// A process that is ready. Dropping it kills it, so that a failed test leaves none behind.
#[derive(Debug)]
pub struct ServiceProcess {
    child: Child,
    ready: String,
}

/// What a process has of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Resident memory in kB.
    pub resident_kb: u64,
    /// Open files and sockets.
    pub descriptors: usize,
}

impl ServiceProcess {
    /// Starts `command` with its log written to `log`, and waits for the line `ready NAME=ADDRESS …`.
    ///
    /// # Errors
    /// When it cannot be started, or prints anything else.
    pub fn start(command: &mut Command, log: Stdio) -> Result<Self, PeerError> {
        let mut child =
            command.stdout(Stdio::piped()).stderr(log).spawn().tried(|| format!("start {command:?}"))?;
        let mut ready = String::new();
        if let Some(output) = child.stdout.take() {
            let _ended = BufReader::new(output).read_line(&mut ready);
        }
        let process = Self { child, ready };
        if process.ready.starts_with("ready ") {
            return Ok(process);
        }
        Err(PeerError::Server { what: "there is no ready line".to_owned(), log: process.ready.clone() })
    }

    /// The address that it named so.
    pub fn address(&self, name: &str) -> Option<SocketAddr> {
        let addresses = self.ready.split_ascii_whitespace().filter_map(|word| word.split_once('='));
        addresses.into_iter().find(|(found, _)| *found == name)?.1.parse().ok()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it by SIGKILL.
    pub fn kill(mut self) {
        self.end();
    }

    /// Ends it by SIGTERM; returns how it ended.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn terminate(mut self) -> Result<ExitStatus, PeerError> {
        processes::send(Pid::from_child(&self.child), Signal::TERM);
        self.child.wait().tried(|| "wait for a service".to_owned())
    }

    fn end(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }

    /// What it has of the machine.
    ///
    /// # Errors
    /// When `/proc` does not say it.
    pub fn resources(&self) -> Result<Resources, PeerError> {
        let text = self.proc("status")?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident_kb = number(line.and_then(|line| line.split_ascii_whitespace().next()), "VmRSS", &text)?;
        let path = format!("/proc/{}/fd", self.id());
        let descriptors = std::fs::read_dir(&path).tried(|| format!("read {path}"))?.count();
        Ok(Resources { resident_kb, descriptors })
    }

    /// The CPU time that it has used, in ticks of 10 ms.
    ///
    /// # Errors
    /// When `/proc` does not say it.
    pub fn cpu_ticks(&self) -> Result<u64, PeerError> {
        let text = self.proc("stat")?;
        // The name in parentheses may contain any character; user and system time are the twelfth and the next after it.
        let mut times = text.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').skip(11);
        Ok(number(times.next(), "user time", &text)? + number(times.next(), "system time", &text)?)
    }

    fn proc(&self, file: &str) -> Result<String, PeerError> {
        let path = format!("/proc/{}/{file}", self.id());
        std::fs::read_to_string(&path).tried(|| format!("read {path}"))
    }
}

impl Drop for ServiceProcess {
    fn drop(&mut self) {
        self.end();
    }
}

fn number(word: Option<&str>, what: &str, text: &str) -> Result<u64, PeerError> {
    word.and_then(|word| word.parse().ok())
        .ok_or_else(|| PeerError::Server { what: format!("there is no {what}"), log: text.to_owned() })
}

/// Pseudo-random bytes, the same in every run.
#[must_use]
pub fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..count).map(|_| next()).collect()
}

/// What `command` writes to its log when it refuses to run: with exit code 2.
///
/// # Panics
/// When it cannot be started, or does anything else.
pub fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Profiles of a service, as `go tool pprof -top` prints them.
#[derive(Debug)]
pub struct Profiles {
    cpu: String,
    heap: String,
    allocated: String,
}

impl Profiles {
    /// Those of the service at `admin`, of CPU time over 3 s. Sets `is_over` when it has them, or failed.
    ///
    /// # Errors
    /// When there is no Go, or no profile.
    pub fn of(admin: SocketAddr, is_over: &AtomicBool) -> Result<Self, PeerError> {
        let top = |name: &str| Toolchain::find()?.top_of(admin, &format!("/debug/pprof/{name}"));
        let tops = (|| Ok([top("profile?seconds=3")?, top("heap")?, top("allocs")?]))();
        is_over.store(true, Ordering::Relaxed);
        tops.map(|[cpu, heap, allocated]| Self { cpu, heap, allocated })
    }

    /// Asserts that each is of its kind, and names functions of the service: `of_load` those that its load called.
    ///
    /// # Panics
    /// When one does not.
    pub fn assert_named(&self, of_service: &str, of_load: &str) {
        let Self { cpu, heap, allocated } = self;
        assert!(cpu.contains("Type: cpu") && cpu.contains("Duration: 3") && cpu.contains(of_load), "{cpu}");
        assert!(heap.contains("Type: inuse_space") && heap.contains(of_service), "{heap}");
        assert!(allocated.contains("Type: alloc_space") && allocated.contains(of_load), "{allocated}");
    }
}

/// Asserts that the service at `admin` has no profiles, and that its metrics describe its process.
///
/// # Panics
/// When that is not so.
pub fn assert_no_profiles(admin: SocketAddr) {
    for path in ["/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/profile?seconds=1"] {
        let answer = go::get(admin, path);
        let is_missing = answer.as_ref().is_err_and(|error| error.to_string().contains("404"));
        assert!(is_missing, "{path}: {answer:?}");
    }
    let metrics = go::get(admin, "/metrics").unwrap_or_else(|error| panic!("{error}"));
    let metrics = String::from_utf8_lossy(&metrics);
    let value = |name: &str| metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    for (name, above) in [
        ("process_cpu_seconds_total ", 0.0),
        ("process_resident_memory_bytes ", 1e6),
        ("process_open_fds ", 1.0),
        ("process_threads ", 1.0),
    ] {
        assert!(value(name).is_some_and(|found: f64| found >= above), "{name} is not in {metrics}");
    }
}
