//! The folder of a plan, which paths in the plan are relative to.

use std::io;
use std::path::{Path, PathBuf};

use workload::files::Files;

/// Reads files by paths relative to the plan.
#[derive(Clone, Copy)]
pub(super) struct PlanFolder<'a> {
    pub(super) path: &'a Path,
    pub(super) files: &'a dyn Files,
}

impl PlanFolder<'_> {
    /// The path of a file that the plan names.
    pub(super) fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    /// The content of a file that the plan names.
    pub(super) fn read(&self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        self.files.read(&self.join(path))
    }
}
