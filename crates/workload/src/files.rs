//! How files are read. This crate opens none itself.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Reads files for a plan.
pub trait Files {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// The reader's I/O error.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Files in memory, by their paths: generated plans, and files of tests.
#[derive(Debug, Clone, Default)]
pub struct FilesInMemory(BTreeMap<PathBuf, Vec<u8>>);

impl FilesInMemory {
    /// A single file.
    pub fn one(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> FilesInMemory {
        FilesInMemory::from_iter([(path, content)])
    }
}

impl<P: Into<PathBuf>, C: Into<Vec<u8>>> FromIterator<(P, C)> for FilesInMemory {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> FilesInMemory {
        FilesInMemory(files.into_iter().map(|(path, content)| (path.into(), content.into())).collect())
    }
}

impl Files for FilesInMemory {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
