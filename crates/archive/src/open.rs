//! Opens a run file from anywhere: checks what it is and whether this version can read it, and trusts it as little as
//! possible.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use evidence::manifest::SCHEMA_VERSION;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::beside::refuse_journals;
use crate::error::{ArchiveError, Fault, READ};
use crate::readable::Readable;
use crate::schema::{self, APPLICATION_ID};

/// The longest value that is read from a file, in bytes.
const LONGEST_VALUE: i32 = 64 << 20;

/// Open a run file to read it. What SQLite opens is either the file itself, as one that never changes and with nothing
/// looked for beside it, or a private copy of it and its log.
pub(crate) fn to_read(readable: &Readable) -> Result<Connection, ArchiveError> {
    let opened = match readable.folder() {
        None => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            connect(Path::new(&immutable_uri(readable.opened())), flags)
        }
        Some(_) => connect(readable.opened(), OpenFlags::SQLITE_OPEN_READ_WRITE),
    };
    let only_reading = |connection: Connection| {
        // The copy is thrown away: nothing is gained by folding its log in.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // Nothing is ever spilled to a file whose place SQLite chooses.
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        connection.pragma_update(None, "query_only", true)?;
        as_built(connection)
    };
    opened.map_err(Fault::from).and_then(only_reading).map_err(|fault| fault.at(readable.path(), READ))
}

/// Open the run file at `path` to add to it. SQLite writes to the file and beside it, so this is for files that
/// this process wrote.
pub(crate) fn to_add(path: &Path) -> Result<Connection, ArchiveError> {
    readable_version(path)?;
    refuse_journals(path)?;
    let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    opened.map_err(Fault::from).and_then(as_built).map_err(|fault| fault.at(path, READ))
}

/// That the file at `path` is a run file of a version that is known.
pub(crate) fn readable_version(path: &Path) -> Result<(), ArchiveError> {
    let found = version_in_header(path)?;
    if found > SCHEMA_VERSION {
        let path = path.to_owned();
        return Err(ArchiveError::NewerSchema { path, found, supported: SCHEMA_VERSION });
    }
    Ok(())
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
    uri + "?mode=ro&immutable=1"
}

fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    distrust(&connection)?;
    schema::widen_cache(&connection)?;
    Ok(connection)
}

fn as_built(connection: Connection) -> Result<Connection, Fault> {
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
