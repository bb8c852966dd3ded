//! Starts the binary in a folder of its own, and reads its output and files.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// A command that takes longer hangs.
pub(crate) const HANG: Duration = Duration::from_secs(120);
/// How often a condition is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const BINARY: &str = env!("CARGO_BIN_EXE_plimsoll");

/// A folder in which commands are run.
pub(crate) struct TestFolder {
    folder: TempDir,
}

/// How a command ended and what it printed.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    /// None when a signal ended it.
    pub(crate) code: Option<i32>,
    /// The signal that ended it, if one did.
    pub(crate) signal: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The most memory that it was seen to hold, in MiB.
    pub(crate) peak_mib: u64,
}

/// A command under way. Dropped, it is killed.
pub(crate) struct Running {
    child: Child,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl TestFolder {
    /// A folder with `plan.toml`.
    pub(crate) fn new(plan: &str) -> TestFolder {
        let folder = TestFolder { folder: TempDir::new().unwrap() };
        folder.write("plan.toml", plan);
        folder
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// A JSON file of the folder.
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The names of the files in the folder that end so, in order.
    pub(crate) fn files(&self, end: &str) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    /// Run `plimsoll` to its end.
    pub(crate) fn plimsoll(&self, arguments: &[&str]) -> CommandOutput {
        self.start(arguments).end()
    }

    /// Start `plimsoll`.
    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        self.spawn(Command::new(BINARY).args(arguments))
    }

    /// Run `plimsoll` to its end, from a shell that runs `preparation` first.
    pub(crate) fn plimsoll_after(&self, preparation: &str, arguments: &[&str]) -> CommandOutput {
        self.start_after(preparation, arguments).end()
    }

    /// Start `plimsoll` from a shell that runs `preparation` first.
    pub(crate) fn start_after(&self, preparation: &str, arguments: &[&str]) -> Running {
        let script = format!("{preparation}; exec \"$@\"");
        self.spawn(Command::new("sh").args(["-c", &script, "sh", BINARY]).args(arguments))
    }

    /// Start `plimsoll` with this as its standard output.
    pub(crate) fn start_onto(&self, arguments: &[&str], stdout: Stdio) -> Running {
        self.spawn_onto(Command::new(BINARY).args(arguments), stdout)
    }

    fn spawn(&self, command: &mut Command) -> Running {
        let stdout = File::create(self.path("stdout.txt")).unwrap();
        self.spawn_onto(command, stdout.into())
    }

    fn spawn_onto(&self, command: &mut Command, onto: Stdio) -> Running {
        let (stdout, stderr) = (self.path("stdout.txt"), self.path("stderr.txt"));
        let child = command
            .current_dir(self.folder.path())
            .env("TOKEN", "env-5ecret-value")
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .stdout(onto)
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        Running { child, stdout, stderr }
    }
}

impl Running {
    /// Send it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The kernel's status file of the process.
    pub(crate) fn status_file(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/status", self.child.id()))
    }

    /// The most memory that it has held so far, in MiB; 0 once it has ended.
    fn peak_mib(&self) -> u64 {
        let status = fs::read_to_string(self.status_file()).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
    }

    /// What it has printed on standard error so far.
    pub(crate) fn stderr(&self) -> String {
        text_of(&self.stderr)
    }

    /// Wait until `condition` holds while the command runs.
    pub(crate) fn until(&mut self, what: &str, mut condition: impl FnMut() -> bool) {
        let began = Instant::now();
        while !condition() {
            assert!(began.elapsed() < HANG, "{what}: not within {HANG:?}; stderr: {}", self.stderr());
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("{what}: it ended before, {status}: {}", self.stderr());
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Wait for its end.
    pub(crate) fn end(mut self) -> CommandOutput {
        let began = Instant::now();
        let mut peak_mib = 0;
        let status = loop {
            peak_mib = peak_mib.max(self.peak_mib());
            match self.child.try_wait().unwrap() {
                Some(status) => break status,
                None if began.elapsed() > HANG => panic!("it hangs: {}", self.stderr()),
                None => thread::sleep(POLL_INTERVAL),
            }
        };
        let (stdout, stderr) = (text_of(&self.stdout), text_of(&self.stderr));
        let ran = CommandOutput { code: status.code(), signal: status.signal(), stdout, stderr, peak_mib };
        for text in [&ran.stdout, &ran.stderr] {
            assert!(!text.contains("panicked") && !text.contains("RUST_BACKTRACE"), "{text}");
        }
        ran
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Empty, where its output went elsewhere.
fn text_of(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

impl CommandOutput {
    /// It must have ended with this exit code.
    #[track_caller]
    pub(crate) fn exits_with(&self, code: i32) -> &CommandOutput {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Each of these must be on standard error.
    #[track_caller]
    pub(crate) fn stderr_contains(&self, parts: &[&str]) -> &CommandOutput {
        for part in parts {
            assert!(self.stderr.contains(part), "no {part:?} in:\n{}", self.stderr);
        }
        self
    }

    /// Each of these must be on standard output.
    #[track_caller]
    pub(crate) fn stdout_contains(&self, parts: &[&str]) -> &CommandOutput {
        for part in parts {
            assert!(self.stdout.contains(part), "no {part:?} in:\n{}\n{}", self.stdout, self.stderr);
        }
        self
    }
}

/// How many whole seconds the run file at `path` holds, while it is being written.
pub(crate) fn recorded_seconds(path: &Path) -> i64 {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let read = || {
        let file = rusqlite::Connection::open_with_flags(path, flags)?;
        file.query_row("SELECT coalesce(1 + max(second), 0) FROM ticks", [], |row| row.get(0))
    };
    // It may not be there yet, or have no tables yet.
    read().unwrap_or(0)
}

/// Two virtual users, each with a request to `/x` of the target every 20 ms. The verdict on a closed model does not
/// depend on the load of this machine.
pub(crate) fn closed(address: SocketAddr, seconds: u32) -> String {
    plan(address, &format!("executor = \"constant-vus\"\nvus = 2\nduration = \"{seconds}s\""))
        + "think = \"20ms\"\n"
}

/// 50 requests a second to `/x` of the target.
pub(crate) fn open(address: SocketAddr, seconds: u32) -> String {
    plan(
        address,
        &format!(
            "executor = \"constant-arrival-rate\"\nrate = \"50/s\"\nmax_vus = 100\nduration = \"{seconds}s\""
        ),
    )
}

/// So many requests to `/x` of the target, by one virtual user.
pub(crate) fn iterations(address: SocketAddr, count: u32) -> String {
    plan(address, &format!("executor = \"shared-iterations\"\nvus = 1\niterations = {count}"))
}

/// The plan, with its steps sent once before the load, as is the default.
pub(crate) fn checked(plan: &str) -> String {
    plan.replacen("precheck = false\n", "", 1)
}

/// A plan of one scenario and one step, to which the caller may append. Its steps are not sent before the load, so that a
/// target's counts are those of the load.
fn plan(address: SocketAddr, executor: &str) -> String {
    format!(
        r#"version = 1
precheck = false
[targets.api]
url = "http://{address}"
[[scenarios]]
name = "load"
{executor}
[[scenarios.steps]]
name = "get"
get = "${{api.url}}/x"
"#
    )
}

/// An address that refuses connections.
pub(crate) fn refusal() -> testbed::Refusal {
    testbed::refuse().unwrap()
}
