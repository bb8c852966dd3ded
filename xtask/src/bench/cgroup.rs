//! A part of a processor for one process, by a control group of the kernel: so that a generator on the same machine
//! can offer many times what the service can do.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Short beside the times that are measured, so that being stopped is no pause that anybody sees.
const PERIOD_US: u32 = 10_000;
/// A group that was just left may be busy for a moment.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// A control group with one process in it; dropping it frees the process.
pub(super) struct Cage {
    folder: PathBuf,
    root: PathBuf,
}

impl Cage {
    /// Holds `pid` to this many hundredths of a processor.
    ///
    /// # Errors
    /// When this process may not make control groups.
    pub(super) fn hold((pid, percent): (u32, u32)) -> Result<Self> {
        let root = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(PathBuf::from);
        let root = root.into_iter().find(|root| root.join("cgroup.procs").exists());
        let root = root.context("the system has no control groups")?;
        let folder = root.join(format!("plimsoll-bench-{pid}"));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let cage = Self { folder, root };
        let quota_us = PERIOD_US / 100 * percent;
        if cage.folder.join("cpu.cfs_quota_us").exists() {
            cage.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            cage.write("cpu.cfs_quota_us", &quota_us.to_string())?;
        } else {
            cage.write("cpu.max", &format!("{quota_us} {PERIOD_US}"))?;
        }
        cage.write("cgroup.procs", &pid.to_string())?;
        Ok(cage)
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.folder.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        let inside = fs::read_to_string(self.folder.join("cgroup.procs")).unwrap_or_default();
        for pid in inside.lines() {
            // A process that has ended meanwhile has left by itself.
            let _gone = fs::write(self.root.join("cgroup.procs"), pid);
        }
        let folder: &Path = &self.folder;
        peers::poll::until(LEAVE_WITHIN, || fs::remove_dir(folder).is_ok());
    }
}
