//! A private copy of a run file and its write-ahead log.
//!
//! The run may be going on. Its writer appends to the log, folds the log into the file from time to time, and then begins
//! the log anew, with other salts in its header. The file is copied first and the log after it: whatever was folded into
//! the file by then is also in the copied log, unless the log was begun anew, and the header shows that. What the log's end
//! lacks is cut by its checksums.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

use crate::beside::beside;
use crate::error::{ArchiveError, READ};
use crate::private::{private_file, private_folder};

/// The header of a log, which holds its salts.
const LOG_HEADER: u64 = 32;
/// After so many bytes it is asked whether a copy is to be given up.
const PIECE: u64 = 8 << 20;

/// A copy in a folder that only its owner may enter; gone when this is dropped.
#[derive(Debug)]
pub(crate) struct PrivateCopy {
    folder: TempDir,
    file: PathBuf,
}

/// What does not change while a copy stays consistent.
#[derive(PartialEq, Eq)]
struct State {
    log_header: Vec<u8>,
    /// Of a file whose log is empty, and that therefore must not change at all.
    file: Option<(u64, SystemTime)>,
}

impl PrivateCopy {
    /// A copy of the file at `path` with its `log`; none if the log was begun anew, or went away, meanwhile.
    /// It is given up, as interrupted, once `is_stopped`.
    pub(crate) fn take(
        path: &Path,
        log: &Path,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<PrivateCopy>, ArchiveError> {
        let failed = |error| ArchiveError::io(path, READ, error);
        let Some(before) = state(path, log).map_err(failed)? else { return Ok(None) };
        let length = |path| fs::metadata(path).map_or(0, |found| found.len());
        let bytes = length(path).saturating_add(length(log));
        let parent = std::env::temp_dir();
        let no_copy = |source| {
            let (path, folder) = (path.to_owned(), parent.clone());
            ArchiveError::NoCopy { path, folder, bytes, source }
        };
        let folder = private_folder(&parent).map_err(no_copy)?;
        if free(folder.path()).is_some_and(|free| free < bytes) {
            return Err(no_copy(ErrorKind::StorageFull.into()));
        }
        let file = folder.path().join("run.plimsoll");
        let copied_log = beside(&file, "-wal");
        for (from, to) in [(path, &file), (log, &copied_log)] {
            match File::open(from) {
                Ok(from) => copy(from, to, is_stopped).map_err(no_copy)?,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
        let is_whole = state(path, log).map_err(failed)?.is_some_and(|after| after == before)
            && header(&copied_log).map_err(failed)? == before.log_header;
        Ok(is_whole.then_some(PrivateCopy { folder, file }))
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn file(&self) -> &Path {
        &self.file
    }
}

/// None when the log is gone, which is what a seal does.
fn state(path: &Path, log: &Path) -> io::Result<Option<State>> {
    let log_header = match header(log) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        header => header?,
    };
    let file = match log_header.is_empty() {
        true => Some(fs::metadata(path).and_then(|found| Ok((found.len(), found.modified()?)))?),
        false => None,
    };
    Ok(Some(State { log_header, file }))
}

fn header(log: &Path) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    File::open(log)?.take(LOG_HEADER).read_to_end(&mut header)?;
    Ok(header)
}

/// As much as the file had when the copy began: one that grows without end is not followed.
fn copy(from: File, to: &Path, is_stopped: &dyn Fn() -> bool) -> io::Result<()> {
    let length = from.metadata()?.len();
    let (mut from, mut to) = (from.take(length), private_file(to)?);
    while io::copy(&mut from.by_ref().take(PIECE), &mut to)? > 0 {
        if is_stopped() {
            return Err(ErrorKind::Interrupted.into());
        }
    }
    Ok(())
}

/// How many bytes the disk of `folder` can still take, if it says.
fn free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use rusqlite::Connection;

    use super::*;

    #[test]
    fn a_copy_that_would_take_long_is_given_up_when_asked() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        File::create(&from).unwrap().set_len(1 << 36).unwrap();
        let asked = Cell::new(0);
        let is_stopped = || asked.replace(asked.get() + 1) == 1;
        let error = copy(File::open(&from).unwrap(), &to, &is_stopped).unwrap_err();
        assert_eq!((error.kind(), asked.get()), (ErrorKind::Interrupted, 2));
        assert_eq!(fs::metadata(&to).unwrap().len(), 2 * PIECE);
    }

    #[test]
    fn a_log_that_is_begun_anew_is_noticed_and_one_that_grows_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let log = beside(&path, "-wal");
        let writer = Connection::open(&path).unwrap();
        let run = |sql: &str| writer.execute_batch(sql).unwrap();
        let now = || state(&path, &log).unwrap();
        run("PRAGMA journal_mode = WAL; CREATE TABLE t (x)");
        let begun = now();
        run("INSERT INTO t VALUES (randomblob(9000))");
        assert!(now() == begun, "the log grew");
        run("PRAGMA wal_checkpoint");
        assert!(now() == begun, "all that was folded in is still in the log");
        run("INSERT INTO t VALUES (1)");
        assert!(now() != begun, "the log was begun anew over what was folded in");
        run("PRAGMA wal_checkpoint(TRUNCATE)");
        let empty = now();
        assert!(empty.as_ref().is_some_and(|state| state.log_header.is_empty()));
        run("INSERT INTO t VALUES (randomblob(9000)); PRAGMA wal_checkpoint(TRUNCATE)");
        assert!(now() != empty, "the file changed behind an empty log");
        run("PRAGMA journal_mode = DELETE");
        assert!(now().is_none(), "the log is gone");
    }
}
