//! Files beside a run file that are named after it. SQLite would use them unasked, and the author of a received run file
//! may have put them there.

use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{ArchiveError, READ};

/// The name of the file that SQLite keeps beside `path`, such as `-wal`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Checks that no rollback journal is beside the file at `path`: neither beside that name, nor beside the file that it
/// links to, where SQLite looks. An empty file, a link or a folder of that name is refused too, since a run that ended leaves
/// nothing there.
pub(crate) fn refuse_journals(path: &Path) -> Result<(), ArchiveError> {
    for place in [path.to_owned(), resolved(path)?] {
        let journal = beside(&place, "-journal");
        if look(&journal)?.is_some() {
            return Err(ArchiveError::JournalBeside { path: path.to_owned(), journal });
        }
    }
    Ok(())
}

/// The write-ahead log of the file at `path`, if it has one: where SQLite looks for it, beside the file itself.
pub(crate) fn log_of(path: &Path) -> Result<Option<PathBuf>, ArchiveError> {
    let log = beside(&resolved(path)?, "-wal");
    match look(&log)? {
        None => Ok(None),
        Some(found) if found.is_file() => Ok(Some(log)),
        Some(_) => Err(ArchiveError::NotALog { path: path.to_owned(), log }),
    }
}

fn resolved(path: &Path) -> Result<PathBuf, ArchiveError> {
    fs::canonicalize(path).map_err(|error| ArchiveError::io(path, READ, error))
}

/// What has this name, links not followed.
fn look(path: &Path) -> Result<Option<Metadata>, ArchiveError> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        // A name too long for a file is one that no file has.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::InvalidFilename) => Ok(None),
        Err(error) => Err(ArchiveError::io(path, READ, error)),
    }
}
