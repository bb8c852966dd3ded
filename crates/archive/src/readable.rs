//! A run file that is only to be read.

use std::path::{Path, PathBuf};

use crate::beside::{log_of, refuse_journals};
use crate::copy::PrivateCopy;
use crate::error::ArchiveError;
use crate::header::readable_version;

/// How often a file is copied while its run continues. A copy is lost when the run restarted its log meanwhile, which
/// happens once in about a megabyte.
const ATTEMPTS: u32 = 8;

/// A run file that may be read: its header is one, and what lies beside it does no harm. Of its content nothing was
/// looked at but the header, so a command can confine itself before [`crate::Stored::read`].
///
/// A file with a write-ahead log belongs to a run that was killed or is still running, or is made to look so. It is read
/// from a private copy, which is deleted as soon as it is open, or when this is dropped.
#[derive(Debug)]
pub struct Readable {
    path: PathBuf,
    copy: Option<PrivateCopy>,
}

impl Readable {
    /// The run file at `path`. Another process may still be writing it. This one must not: closing the file after a look
    /// at its header gives up the locks of every other handle in the process, as POSIX has it.
    ///
    /// # Errors
    /// [`ArchiveError`]: no such file, no run file, of a newer version, with a rollback journal beside it, or with a log
    /// and no space for a copy.
    pub fn at(path: &Path) -> Result<Readable, ArchiveError> {
        Readable::at_unless(&|| false, path)
    }

    /// The same, and gives a copy up as soon as `is_stopped`: a file may be made to look larger than any disk.
    ///
    /// # Errors
    /// As [`Readable::at`], and when it was given up.
    pub fn at_unless(is_stopped: &dyn Fn() -> bool, path: &Path) -> Result<Readable, ArchiveError> {
        Readable::check(path)?;
        for _ in 0..ATTEMPTS {
            refuse_journals(path)?;
            let Some(log) = log_of(path)? else {
                return Ok(Readable { path: path.to_owned(), copy: None });
            };
            if let Some(copy) = PrivateCopy::take(path, &log, is_stopped)? {
                return Ok(Readable { path: path.to_owned(), copy: Some(copy) });
            }
        }
        Err(ArchiveError::Changing { path: path.to_owned() })
    }

    /// The run file at `path` that this process writes, and whose log is its own.
    pub(crate) fn written_here(path: &Path) -> Readable {
        Readable { path: path.to_owned(), copy: None }
    }

    /// Checks what can be checked without a copy.
    ///
    /// # Errors
    /// Those of [`Readable::at`] but for a log.
    pub fn check(path: &Path) -> Result<(), ArchiveError> {
        readable_version(path)?;
        refuse_journals(path)
    }

    /// Deletes the private copy, which is open and needs no name any more. Nothing is left of it however the process ends.
    pub(crate) fn delete_copy(&mut self) {
        self.copy = None;
    }

    /// The file as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that is opened: the one that was named, or the copy.
    pub fn opened(&self) -> &Path {
        self.copy.as_ref().map_or(&self.path, PrivateCopy::file)
    }

    /// The folder of the private copy, if there is one. SQLite writes there.
    pub fn folder(&self) -> Option<&Path> {
        self.copy.as_ref().map(PrivateCopy::folder)
    }
}
