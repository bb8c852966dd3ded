//! Samples a process from outside by Linux's `perf`, for targets that serve no profiles.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::process::ProcessRef;
use crate::tree::family;

/// Samples a second and processor, not a round number, which would synchronise with work that happens once in 10 ms.
const FREQUENCY: &str = "99";
/// The longest text of samples that is read, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// Sampling under way. Dropped, it is stopped.
#[derive(Debug)]
pub(crate) struct Perf {
    child: Child,
    folder: TempDir,
}

impl Perf {
    /// Starts to sample the process and those that descend from it now, for `seconds`.
    ///
    /// # Errors
    /// In words, when the process cannot be found or `perf` not be started.
    pub(crate) fn start(process: ProcessRef, seconds: u32) -> Result<Perf, String> {
        let found = process.find().map_err(|error| error.to_string())?;
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("plimsoll-perf-").permissions(Permissions::from_mode(0o700)).tempdir();
        let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?;
        let mut command = Command::new("perf");
        command.args(["record", "--quiet", "--event", "cpu-clock", "--freq", FREQUENCY, "-g"]);
        let family: Vec<String> = family(found.pid).iter().map(u32::to_string).collect();
        command.args(["--pid", &family.join(","), "--output"]).arg(folder.path().join("perf.data"));
        command.args(["--", "sleep", &seconds.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "`perf` is not installed (Debian's package `linux-perf`)".to_owned(),
            _ => format!("`perf` cannot be started: {error}"),
        })?;
        Ok(Perf { child, folder })
    }

    /// Waits for the end of sampling and yields it as `perf script` prints it: a period, then frames.
    ///
    /// # Errors
    /// In words: `perf` was not allowed to, or found nothing to say.
    pub(crate) fn finish(mut self) -> Result<String, String> {
        let status = self.child.wait().map_err(|error| format!("`perf` was lost: {error}"))?;
        if !status.success() {
            let mut printed = String::new();
            if let Some(mut stderr) = self.child.stderr.take() {
                // Its output is only the reason.
                let _ = io::Read::read_to_string(&mut stderr, &mut printed);
            }
            let reason = printed
                .lines()
                .map(str::trim)
                .find(|line| !line.is_empty())
                .unwrap_or("it printed no reason");
            return Err(format!("`perf record` ended with {status}: {reason}"));
        }
        let mut script = Command::new("perf");
        // Resolving inlined calls takes minutes.
        script.args(["script", "--no-inline", "--fields", "period,ip,sym,dso", "--input"]);
        let output = script.arg(self.folder.path().join("perf.data")).stdin(Stdio::null()).output();
        let output = output.map_err(|error| format!("`perf script` cannot be started: {error}"))?;
        if output.stdout.len() > MOST_BYTES {
            return Err(format!("more than {MOST_BYTES} bytes of samples"));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Perf {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
