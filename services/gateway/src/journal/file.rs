//! The journal's folder: which files are in it, and that one process alone uses it.

use super::Size;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LOCK: &str = "lock";
const ENDING: &str = "log";

/// A folder that is ours for as long as this exists.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
    pub(super) size: Arc<Size>,
}

impl Folder {
    pub(super) fn open(path: &Path, size: Arc<Size>) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let lock = File::create(path.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock, size }),
            Err(TryLockError::WouldBlock) => {
                Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process uses it"))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Its files and their numbers, the oldest first.
    pub(super) fn files(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let path = entry?.path();
            let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            files.extend(number.filter(|_| is_ours).map(|number| (number, path)));
        }
        files.sort_unstable();
        Ok(files)
    }

    /// Makes a file, and makes sure that its name is on disk too.
    pub(super) fn begin(&self, number: u64) -> io::Result<(File, PathBuf)> {
        let path = self.path.join(format!("{number:020}.{ENDING}"));
        let file = File::options().create(true).truncate(true).write(true).open(&path)?;
        File::open(&self.path)?.sync_all()?;
        Ok((file, path))
    }
}
