//! Opens a run file from anywhere: checks what it is and whether this version can read it, and trusts it as little as
//! possible.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

use crate::beside::refuse_journals;
use crate::error::{ArchiveError, Fault, READ};
use crate::header::readable_version;
use crate::readable::Readable;
use crate::schema;

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

/// Open the run file at `path`, which this process is writing, as it is now. Only SQLite opens it: closing a file by other
/// means gives up the writer's locks.
pub(crate) fn to_look(path: &Path) -> Result<Connection, ArchiveError> {
    // One that may not write cannot use the shared memory of the log.
    let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    let looking = |connection: Connection| {
        connection.pragma_update(None, "query_only", true)?;
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        // All of one transaction is as it was at its first read.
        connection.execute_batch("BEGIN DEFERRED")?;
        Ok((connection, mode))
    };
    let (connection, mode) =
        opened.map_err(Fault::from).and_then(looking).map_err(|fault| fault.at(path, READ))?;
    match mode.as_str() {
        "wal" => Ok(connection),
        _ => {
            let why = "its file system cannot share memory, so that readers would stop the writer";
            Err(ArchiveError::io(path, READ, io::Error::new(io::ErrorKind::Unsupported, why)))
        }
    }
}

/// Open the run file at `path` to add to it. SQLite writes to the file and beside it, so this is for files that
/// this process wrote.
pub(crate) fn to_add(path: &Path) -> Result<Connection, ArchiveError> {
    readable_version(path)?;
    refuse_journals(path)?;
    let opened = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
    opened.map_err(Fault::from).and_then(as_built).map_err(|fault| fault.at(path, READ))
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
