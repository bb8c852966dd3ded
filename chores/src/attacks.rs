//! Every attack that `SECURITY.md` names, played against the built command, and what happened.
//!
//! Files are traced with strace: what a command opened for writing, removed and connected to.
//! Peers that want its memory meet it under a limit. Nothing here shares code with the command.

mod expectation;
mod files;
#[path = "../../crates/archive/tests/it/forged.rs"]
#[allow(clippy::unwrap_used, dead_code, reason = "what the tests of the archive put beside run files")]
mod forged;
mod memory;
mod peer;
mod scripts;
mod secrets;
mod terminal;
mod trace;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::steps;
use expectation::Expectation;
use trace::Trace;
use xtask::workspace::Workspace;

/// What the verb is for.
pub(crate) const ABOUT: &str = "every attack of SECURITY.md against the built command, with what happened";

/// No command of an attack may take longer.
const TIME_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(5);
const BINARY: &str = "plimsoll";

/// A group of attacks; each returns what happened, one line an attack.
type Group = fn(&Fixture) -> Result<Vec<Expectation>>;

const GROUPS: [(&str, Group); 5] = [
    ("run files that were received", files::attack),
    ("text that reaches a terminal", terminal::attack),
    ("peers that want memory", memory::attack),
    ("secrets", secrets::attack),
    ("k6 scripts", scripts::attack),
];

/// Builds the command and plays every attack.
///
/// # Errors
/// When an attack succeeded, or could not be played.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.first() {
        bail!("takes no arguments, got `{unknown}`");
    }
    trace::require()?;
    let mut build = workspace.cargo();
    build.args(["build", "--locked", "--package", BINARY]).args(workspace.profile());
    steps::run(build)?;
    let fixture = Fixture { binary: workspace.binary(BINARY), folder: workspace.scratch("attacks")? };
    let mut succeeded = 0;
    for (name, group) in GROUPS {
        println!("{name}");
        for expectation in group(&fixture).with_context(|| format!("while playing: {name}"))? {
            println!("  {expectation}");
            succeeded += u32::from(!expectation.is_met());
        }
    }
    ensure!(succeeded == 0, "{succeeded} attacks succeeded");
    println!("attacks: none succeeded");
    Ok(())
}

/// The command, and a folder for everything that attacks need.
struct Fixture {
    binary: PathBuf,
    folder: PathBuf,
}

/// One command that ran to its end.
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    took: Duration,
    /// The most memory that it had, in MiB; 0 when it was traced.
    peak_mib: u64,
    trace: Trace,
}

impl Ran {
    /// Whether it ended by itself, without a panic or a signal.
    fn is_orderly(&self) -> bool {
        self.code.is_some_and(|code| code != 101) && self.took < TIME_LIMIT
    }

    /// How it ended, with its first line of error.
    fn ending(&self) -> String {
        let code = self.code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
        let line = self.stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let line: String = line.chars().take(110).collect();
        if line.is_empty() { code } else { format!("{code}: {line}") }
    }
}

impl Fixture {
    /// A folder of its own for one attack.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        std::fs::create_dir_all(folder.join("tmp"))
            .with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// Runs the command in `folder`, traced.
    fn traced(&self, folder: &Path, arguments: &[&str]) -> Result<Ran> {
        let log = folder.join("trace");
        let mut command = trace::command(&log);
        command.arg(&self.binary).args(arguments);
        let mut ran = ended(command, folder)?;
        ran.trace = Trace::read(&log);
        Ok(ran)
    }

    /// Runs the command in `folder` with at most `data_mib` of memory that it can write to.
    fn limited(&self, folder: &Path, data_mib: u64, arguments: &[&str]) -> Result<Ran> {
        let mut command = Command::new("prlimit");
        command.arg(format!("--data={}", data_mib << 20)).arg(&self.binary).args(arguments);
        // The allocator reserves a gigabyte at once where it may, which counts as if it were used.
        command.env("MIMALLOC_ARENA_EAGER_COMMIT", "0");
        ended(command, folder)
    }
}

fn ended(mut command: Command, folder: &Path) -> Result<Ran> {
    let output =
        |name: &str| std::fs::File::create(folder.join(name)).context("cannot make a file for output");
    command.current_dir(folder).env("TMPDIR", folder.join("tmp")).stdin(Stdio::null());
    command.stdout(output("stdout")?).stderr(output("stderr")?);
    let began = Instant::now();
    let mut child =
        command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let mut peak_mib = 0;
    let status = loop {
        peak_mib = peak_mib.max(high_water_mib(child.id()));
        if let Some(status) = child.try_wait().context("cannot wait for the command")? {
            break status;
        }
        if began.elapsed() > TIME_LIMIT {
            child.kill().context("cannot end the command")?;
            break child.wait().context("cannot wait for the command")?;
        }
        std::thread::sleep(POLL);
    };
    let read = |name: &str| {
        std::fs::read(folder.join(name))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    };
    Ok(Ran {
        code: status.code(),
        stdout: read("stdout"),
        stderr: read("stderr"),
        took: began.elapsed(),
        peak_mib,
        trace: Trace::default(),
    })
}

/// The most memory that a process has had, in MiB.
fn high_water_mib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}
