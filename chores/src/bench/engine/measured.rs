//! One run of a tool: its output, its processor time and its peak memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench::proc;
use xtask::child::Running;

const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time beside that for which load is offered: for starting, thousands of connections, reports.
const GRACE: Duration = Duration::from_secs(60);

/// The figures of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::bench) struct Measured {
    /// Requests that succeeded.
    pub(in crate::bench) requests: u64,
    /// User and system time of the whole process, in seconds; the kernel reports it in hundredths.
    pub(in crate::bench) cpu_s: f64,
    /// Peak resident memory, in megabytes of a million bytes.
    pub(in crate::bench) resident_mb: f64,
}

/// A process that has ended well.
pub(in crate::bench) struct EndedProcess {
    /// Its standard output.
    pub(in crate::bench) output: String,
    pub(in crate::bench) cpu_s: f64,
    pub(in crate::bench) resident_mb: f64,
}

/// Runs a tool in `folder` to its end, which must come soon after `seconds` of load.
///
/// # Errors
/// When it cannot be started, does not end in time, or fails; with its output.
pub(in crate::bench) fn run(
    name: &'static str,
    mut command: Command,
    folder: &Path,
    seconds: u64,
) -> Result<EndedProcess> {
    let output_path = folder.join(format!("{name}.out"));
    let errors_path = folder.join(format!("{name}.err"));
    let file =
        |path: &PathBuf| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    command.stdin(Stdio::null()).stdout(file(&output_path)?).stderr(file(&errors_path)?).current_dir(folder);
    let before = proc::reaped_cpu_s()?;
    let mut running = Running::start(name, command)?;
    let pid = running.child().id();
    let (mut resident_mb, mut looks) = (0.0_f64, 0);
    let max_looks = (Duration::from_secs(seconds) + GRACE).as_millis() / LOOK_EVERY.as_millis();
    let status = loop {
        if let Some(status) = running.ended()? {
            break status;
        }
        if looks >= max_looks {
            running.stop(Duration::from_secs(5))?;
            bail!("{name} did not end within {} s of its load", GRACE.as_secs());
        }
        // It may have ended meanwhile.
        resident_mb = resident_mb.max(proc::peak_resident_mb(pid).unwrap_or_default());
        std::thread::sleep(LOOK_EVERY);
        looks += 1;
    };
    let cpu_s = proc::reaped_cpu_s()? - before;
    let output = fs::read_to_string(&output_path).with_context(|| format!("{name} wrote no text"))?;
    let errors = fs::read_to_string(&errors_path).unwrap_or_default();
    ensure!(status.success(), "{name} ended with {status}: {output}{errors}");
    Ok(EndedProcess { output, cpu_s, resident_mb })
}
