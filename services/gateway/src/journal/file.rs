//! The journal's folder: its files, and the lock that keeps other processes out.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kit::private_files;

use crate::segment::JournalSize;

const LOCK_FILE: &str = "lock";
const EXTENSION: &str = "log";

/// A folder that is locked for as long as this exists.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
    pub(super) size: Arc<JournalSize>,
}

impl Folder {
    pub(super) fn open(path: &Path, size: Arc<JournalSize>) -> io::Result<Self> {
        private_files::create_folder(path)?;
        let lock = private_files::open_or_create(&path.join(LOCK_FILE))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock, size }),
            Err(TryLockError::WouldBlock) => {
                Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process uses it"))
            }
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Its files in the order of their numbers, the oldest first.
    pub(super) fn files(&self) -> io::Result<Vec<(u64, PathBuf)>> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let path = entry?.path();
            let is_journal_file = path.extension().is_some_and(|extension| extension == EXTENSION);
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
            files.extend(number.filter(|_| is_journal_file).map(|number| (number, path)));
        }
        files.sort_unstable();
        Ok(files)
    }

    /// Creates a file, and syncs its name in the folder.
    pub(super) fn create(&self, number: u64) -> io::Result<(File, PathBuf)> {
        let path = self.path.join(format!("{number:020}.{EXTENSION}"));
        let file = private_files::open_or_create(&path)?;
        file.set_len(0)?;
        File::open(&self.path)?.sync_all()?;
        Ok((file, path))
    }
}
