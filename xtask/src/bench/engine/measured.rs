//! One generator's run: what it said, the processor time it took, the most memory it held.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::proc;
use crate::child::Running;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Besides the time for which load is offered: starting, thousands of connections, reports.
const GRACE: Duration = Duration::from_secs(60);

/// What a run took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Requests that were answered well.
    pub(super) requests: u64,
    /// User and system time of the whole process, in seconds; the kernel tells it in hundredths.
    pub(super) cpu_s: f64,
    /// The most resident memory, in megabytes of a million bytes.
    pub(super) resident_mb: f64,
}

/// Runs a generator to its end; yields what it wrote, its processor time and its memory.
///
/// # Errors
/// When it cannot be started, does not end in time, or ends badly; with what it said.
pub(super) fn run(
    (name, mut command): (&'static str, Command),
    (folder, seconds): (&Path, u64),
) -> Result<(String, f64, f64)> {
    let said = folder.join(format!("{name}.out"));
    let complained = folder.join(format!("{name}.err"));
    let file =
        |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    command.stdin(Stdio::null()).stdout(file(&said)?).stderr(file(&complained)?).current_dir(folder);
    let before = proc::reaped_cpu_s()?;
    let mut running = Running::start(name, command)?;
    let pid = running.child().id();
    let (mut resident_mb, mut looks) = (0.0_f64, 0);
    let most = (Duration::from_secs(seconds) + GRACE).as_millis() / LOOK_EVERY.as_millis();
    let status = loop {
        if let Some(status) = running.ended()? {
            break status;
        }
        if looks >= most {
            running.stop(Duration::from_secs(5))?;
            bail!("{name} did not end within {} s of its load", GRACE.as_secs());
        }
        // It may be gone by now.
        resident_mb = resident_mb.max(proc::peak_resident_mb(pid).unwrap_or_default());
        std::thread::sleep(LOOK_EVERY);
        looks += 1;
    };
    let cpu_s = proc::reaped_cpu_s()? - before;
    let text = fs::read_to_string(&said).with_context(|| format!("{name} wrote no text"))?;
    let complaint = fs::read_to_string(&complained).unwrap_or_default();
    ensure!(status.success(), "{name} ended with {status}: {text}{complaint}");
    Ok((text, cpu_s, resident_mb))
}
