//! A service as a process of its own: started until it says that it is ready, measured, and ended.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::http::Client;

/// A process that is ready. Dropping it kills it, so that a failed test leaves none behind.
#[derive(Debug)]
pub struct Process {
    child: Child,
    ready: String,
}

/// What a process has of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    /// Resident memory in kB.
    pub resident_kb: u64,
    /// Open files and sockets.
    pub descriptors: usize,
}

impl Process {
    pub fn start(command: &mut Command) -> Self {
        Self::start_logging(command, Stdio::null())
    }

    /// With its log written to `log`. Waits for the line `ready NAME=ADDRESS …`.
    pub fn start_logging(command: &mut Command, log: impl Into<Stdio>) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut process = Self { child, ready: String::new() };
        let output = process.child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut process.ready).unwrap();
        assert!(process.ready.starts_with("ready "), "{command:?}: {}", process.ready);
        process
    }

    /// Whether it has a port of this name.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The address that it named so.
    pub fn address(&self, name: &str) -> SocketAddr {
        self.find(name).unwrap_or_else(|| panic!("no {name} in {}", self.ready))
    }

    fn find(&self, name: &str) -> Option<SocketAddr> {
        let mut addresses = self.ready.split_ascii_whitespace().filter_map(|word| word.split_once('='));
        addresses.find(|(found, _)| *found == name)?.1.parse().ok()
    }

    pub fn client(&self) -> Client {
        Client::new(self.address("http"))
    }

    pub fn admin(&self) -> Client {
        Client::new(self.address("admin"))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it by SIGKILL.
    pub fn kill(self) {}

    /// Ends it by SIGTERM.
    pub fn terminate(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        self.child.wait().unwrap()
    }

    /// What it has of the machine.
    pub fn resources(&self) -> Resources {
        let text = self.proc("status");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let resident_kb = line.split_ascii_whitespace().next().unwrap().parse().unwrap();
        let descriptors = std::fs::read_dir(format!("/proc/{}/fd", self.id())).unwrap().count();
        Resources { resident_kb, descriptors }
    }

    /// The CPU time that it has used, in ticks of 10 ms.
    pub fn cpu_ticks(&self) -> u64 {
        let text = self.proc("stat");
        // The name in parentheses may contain any character; user and system time are the twelfth and the next after it.
        let times = text.rsplit_once(") ").unwrap().1.split(' ').skip(11).take(2);
        times.map(|time| time.parse::<u64>().unwrap()).sum()
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.id())).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}

/// The same command on a small disk: files are limited to a number of blocks of 512 bytes, above which a write fails as on
/// a full disk.
pub fn on_a_small_disk(command: &Command, blocks: u32) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]).env_clear();
    limited.arg(command.get_program()).args(command.get_args());
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited
}

/// Writes until the disk is full; returns what was acknowledged, and what was refused. After the first refusal a smaller
/// write may still succeed: the disk is full only when every write fails.
pub async fn fill<T, R>(mut write: impl AsyncFnMut(u32) -> Result<T, R>) -> (Vec<T>, Vec<R>) {
    let (mut acknowledged, mut refused) = (Vec::new(), Vec::new());
    let (mut number, mut in_a_row) = (0, 0);
    while in_a_row < 20 {
        match write(number).await {
            Ok(written) => (acknowledged.push(written), in_a_row = 0),
            Err(lost) => (refused.push(lost), in_a_row += 1),
        };
        number += 1;
        assert!(number <= 20_000, "a small disk holds fewer");
    }
    (acknowledged, refused)
}

pub fn assert_command(binary: &str, name: &str) {
    let help = Command::new(binary).args([name, "--help"]).output().unwrap();
    assert!(help.status.success(), "there is no command `{name}`");
}

/// Asserts that `health` succeeds while the process is ready, and fails when it is killed. It finds the port that is
/// called `name` by `variable`.
pub fn assert_health(process: Process, binary: &str, name: &str, variable: &str) {
    let port = process.address(name).port().to_string();
    let health = || Command::new(binary).arg("health").env_clear().env(variable, &port).output().unwrap();
    assert_eq!(health().status.code(), Some(0));
    process.kill();
    let output = health();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains(&format!("127.0.0.1:{port} does not answer")), "{message}");
}

/// Pseudo-random bytes, the same in every run.
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
