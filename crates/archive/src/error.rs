//! What can go wrong with a run file: what was wrong, where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A run file that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The file is there already and was not to be replaced.
    #[error("{} exists already and is not overwritten: name another file, or say --force", .path.display())]
    Exists { path: PathBuf },
    /// No such file.
    #[error("there is no run file {}: check the name", .path.display())]
    NotFound { path: PathBuf },
    /// A file of another kind.
    #[error("{} is not a run file: {why}. Name a file that `plimsoll run` wrote", .path.display())]
    NotAnArchive {
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// Written by a newer version of the tool.
    #[error(
        "{} has schema version {found}, and this version of plimsoll reads up to {supported}: use a newer plimsoll",
        .path.display()
    )]
    NewerSchema {
        path: PathBuf,
        /// The file's schema version.
        found: u32,
        /// The newest this reader knows.
        supported: u32,
    },
    /// A run file whose content is not as it was written.
    #[error("{} is damaged: {what}. Restore it from a copy, or run again", .path.display())]
    Damaged {
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
    /// The run was killed before its file was sealed, or is still going on.
    #[error("{} is not sealed: the run was killed, or is still going on. Report on it, but add nothing to it", .path.display())]
    Unsealed { path: PathBuf },
    /// No space left.
    #[error("no space left to write {}: free space on its disk. Everything up to the last full second is kept", .path.display())]
    Full { path: PathBuf },
    /// Another process holds the file.
    #[error("another process holds {}: close it there and try again", .path.display())]
    Busy { path: PathBuf },
    /// A rollback journal lies beside the file.
    #[error(
        "{} lies beside the run file {}: a rollback journal of a process that is writing the file, was killed while it \
         did, or another program's. It is not played, because that changes the file and can delete other files, which the \
         journal names. If it is of your own run, let `sqlite3` open the file once; else move the journal away",
        .journal.display(),
        .path.display()
    )]
    JournalBeside { path: PathBuf, journal: PathBuf },
    /// What has the name of the file's write-ahead log is not a file.
    #[error("{} is not a regular file, so it is not the write-ahead log of {}: move it away", .log.display(), .path.display())]
    NotALog {
        path: PathBuf,
        /// What has the name of its log.
        log: PathBuf,
    },
    /// The file has a log, and the copy that it would be read from cannot be made.
    #[error(
        "{} has a write-ahead log beside it and is read from a private copy, and {} cannot take that copy: {source}. \
         Free {bytes} bytes there, or let TMPDIR name a folder that has them",
        .path.display(),
        .folder.display()
    )]
    NoCopy {
        path: PathBuf,
        /// Where the copy was to lie.
        folder: PathBuf,
        /// How large file and log are together.
        bytes: u64,
        /// What the file system said.
        source: io::Error,
    },
    /// The file was written to each time that it was copied.
    #[error("{} changed each time that it was copied: its run is still going on. Try again, or wait for its end", .path.display())]
    Changing { path: PathBuf },
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", .path.display())]
    Io {
        path: PathBuf,
        /// What was tried, as a verb.
        doing: &'static str,
        /// What the file system said.
        source: io::Error,
    },
    /// SQLite could not do its work, most often because the system under it failed.
    #[error("cannot {doing} {}: {source}. Check the disk's free space, quota, file-size limit and permissions", .path.display())]
    Sqlite {
        path: PathBuf,
        /// What was tried, as a verb.
        doing: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// Evidence that contradicts itself.
    #[error("cannot keep evidence in {}: {what}. This is a bug in plimsoll", .path.display())]
    Bug {
        path: PathBuf,
        /// What does not fit.
        what: String,
    },
}

impl ArchiveError {
    pub(crate) fn io(path: &Path, doing: &'static str, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound if doing == READ => ArchiveError::NotFound { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ArchiveError::Full { path },
            _ => ArchiveError::Io { path, doing, source },
        }
    }
}

/// What was tried, when it was reading.
pub(crate) const READ: &str = "read";
/// What was tried, when it was writing.
pub(crate) const WRITE: &str = "write";

/// What went wrong below a caller who knows the file's name and what was tried.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
    Damaged(String),
    Bug(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sqlite(error)
    }
}

impl Fault {
    /// The fault as an error about the file at `path`, met while `doing` something with it.
    pub(crate) fn at(self, path: &Path, doing: &'static str) -> ArchiveError {
        let path = path.to_owned();
        match self {
            Fault::Damaged(what) => ArchiveError::Damaged { path, what },
            Fault::Bug(what) => ArchiveError::Bug { path, what },
            Fault::Sqlite(source) => of_sqlite(path, doing, source),
        }
    }
}

fn of_sqlite(path: PathBuf, doing: &'static str, source: rusqlite::Error) -> ArchiveError {
    use rusqlite::Error as E;
    let what = source.to_string();
    match source {
        E::SqliteFailure(error, _) => match error.code {
            ErrorCode::DiskFull => ArchiveError::Full { path },
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => ArchiveError::Busy { path },
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig => {
                ArchiveError::Damaged { path, what }
            }
            _ => ArchiveError::Sqlite { path, doing, source },
        },
        E::FromSqlConversionFailure(..)
        | E::IntegralValueOutOfRange(..)
        | E::Utf8Error(..)
        | E::InvalidColumnType(..)
        | E::QueryReturnedNoRows => ArchiveError::Damaged { path, what },
        _ => ArchiveError::Sqlite { path, doing, source },
    }
}
