//! Limits one process to a part of a processor with a control group of the kernel, so that a generator on the same
//! machine can offer many times what the service can serve.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};

/// Short beside the times that are measured, so that throttling does not show as a pause.
const PERIOD_US: u32 = 10_000;
/// A group can be removed only a moment after its last process has left.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// A control group with one process in it; dropping it lifts the limit.
pub(super) struct CpuLimit {
    folder: PathBuf,
    root: PathBuf,
}

impl CpuLimit {
    /// Limits `pid` to this many hundredths of a processor.
    ///
    /// # Errors
    /// When this process may not make control groups.
    pub(super) fn apply(pid: u32, percent: u32) -> Result<Self> {
        let root = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"].map(PathBuf::from);
        let root = root.into_iter().find(|root| root.join("cgroup.procs").exists());
        let root = root.context("the system has no control groups")?;
        let folder = root.join(format!("plimsoll-bench-{pid}"));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let limit = Self { folder, root };
        let quota_us = PERIOD_US / 100 * percent;
        if limit.folder.join("cpu.cfs_quota_us").exists() {
            limit.write("cpu.cfs_period_us", &PERIOD_US.to_string())?;
            limit.write("cpu.cfs_quota_us", &quota_us.to_string())?;
        } else {
            limit.write("cpu.max", &format!("{quota_us} {PERIOD_US}"))?;
        }
        limit.write("cgroup.procs", &pid.to_string())?;
        Ok(limit)
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.folder.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for CpuLimit {
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
