//! Opening a run file that somebody else may have written: what it is, whether we can read it, and no
//! more trust in it than it needs.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use evidence::manifest::SCHEMA_VERSION;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{ArchiveError, Fault, READ};
use crate::schema::{self, APPLICATION_ID};

/// The longest value that is read from a file, in bytes.
const LONGEST_VALUE: i32 = 64 << 20;

/// Whether the opened file is to be read or added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Add,
}

/// Open the run file at `path`, recovering what a killed writer left in its write-ahead log.
pub(crate) fn open(path: &Path, purpose: Purpose) -> Result<Connection, ArchiveError> {
    let version = version_in_header(path)?;
    if version > SCHEMA_VERSION {
        let path = path.to_owned();
        return Err(ArchiveError::NewerSchema { path, found: version, supported: SCHEMA_VERSION });
    }
    let first = attempt(path, OpenFlags::SQLITE_OPEN_READ_WRITE, purpose);
    match first {
        Err(Fault::Sqlite(error)) if purpose == Purpose::Read && is_refused(&error) => {
            read_where_nothing_can_be_written(path).map_err(|fault| fault.at(path, READ))
        }
        other => other.map_err(|fault| fault.at(path, READ)),
    }
}

/// The schema version of the run file at `path`, from its first hundred bytes: SQLite is not asked before
/// it is known to be ours.
pub(crate) fn version_in_header(path: &Path) -> Result<u32, ArchiveError> {
    let fail = |error| ArchiveError::io(path, READ, error);
    let foreign = |why: &str| Err(ArchiveError::NotAnArchive { path: path.to_owned(), why: why.to_owned() });
    let file_type = std::fs::metadata(path).map_err(fail)?.file_type();
    if !file_type.is_file() {
        return foreign(if file_type.is_dir() { "it is a folder" } else { "it is no regular file" });
    }
    let mut header = Vec::with_capacity(100);
    File::open(path).map_err(fail)?.take(100).read_to_end(&mut header).map_err(fail)?;
    if header.is_empty() {
        return foreign("it is empty");
    }
    let word = |at: usize| header.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    match (header.starts_with(b"SQLite format 3\0"), word(68), word(60)) {
        (true, Some(APPLICATION_ID), Some(version)) => Ok(version),
        (true, _, _) => foreign("it is an SQLite database of another program"),
        _ => foreign("it is a file of another kind"),
    }
}

/// The name of the file that SQLite keeps beside `path`, such as `-wal`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

fn is_refused(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, PermissionDenied, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | PermissionDenied | ReadOnly))
}

/// On a read-only disk SQLite can neither recover a log nor share one. Without a log the file is complete
/// in itself and may be read as one that never changes; with one, reading it so would hide evidence.
fn read_where_nothing_can_be_written(path: &Path) -> Result<Connection, Fault> {
    let read_only = attempt(path, OpenFlags::SQLITE_OPEN_READ_ONLY, Purpose::Read);
    let log = std::fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len());
    match read_only {
        Err(Fault::Sqlite(error)) if is_refused(&error) && log == 0 => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            attempt(Path::new(&immutable_uri(path)), flags, Purpose::Read)
        }
        Err(Fault::Sqlite(error)) if is_refused(&error) => Err(Fault::Damaged(
            "its last seconds are in the `-wal` file beside it, which cannot be recovered here: copy both \
             files to a folder that can be written"
                .to_owned(),
        )),
        other => other,
    }
}

fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from(if path.is_absolute() { "file://" } else { "file:" });
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte))
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri + "?immutable=1"
}

fn attempt(path: &Path, access: OpenFlags, purpose: Purpose) -> Result<Connection, Fault> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    distrust(&connection)?;
    schema::widen_cache(&connection)?;
    if purpose == Purpose::Read {
        connection.pragma_update(None, "query_only", true)?;
    }
    match schema::deviation(&connection)? {
        Some(what) => Err(Fault::Damaged(what)),
        None => Ok(connection),
    }
}

fn distrust(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.pragma_update(None, "cell_size_check", true)
}
