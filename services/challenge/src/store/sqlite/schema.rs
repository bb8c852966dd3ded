//! Where the database lies, how its connections are set up, and its schema: forward only, one step a version.

use rusqlite::{Connection, OpenFlags};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Each entry brings the schema from its place to the next. Entries are never changed, only added.
///
/// `user_goal_progress` carries what rotation needs (`period`, `expires_at`, `baseline_value`) from the start.
/// Times are UTC milliseconds. Without a rowid, a user's rows lie together, so that one page read serves a request.
/// `event_ids` is appended to in the order of commits, one row a group: ids of any randomness touch no old page.
const MIGRATIONS: [&str; 2] = [
    "
    CREATE TABLE user_goal_progress (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        value INTEGER NOT NULL CHECK (value >= 0),
        baseline_value INTEGER,
        is_active INTEGER NOT NULL CHECK (is_active IN (0, 1)),
        assigned_at INTEGER,
        completed_at INTEGER,
        claimed_at INTEGER CHECK (claimed_at IS NULL OR completed_at IS NOT NULL),
        period INTEGER NOT NULL DEFAULT 0,
        expires_at INTEGER,
        PRIMARY KEY (user_id, goal_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE event_ids (
        group_no INTEGER PRIMARY KEY,
        seen_at INTEGER NOT NULL,
        ids BLOB NOT NULL
    ) STRICT;
    CREATE TABLE claims (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        period INTEGER NOT NULL,
        idempotency_key TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        requested_at INTEGER NOT NULL,
        granted_at INTEGER,
        PRIMARY KEY (user_id, goal_id, period)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX claims_pending ON claims (requested_at) WHERE granted_at IS NULL;
    CREATE TABLE reward_ledger (
        idempotency_key TEXT PRIMARY KEY,
        user_id TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        granted_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    ",
    // Which event a relative goal's baseline came from, so that an earlier one that arrives late can move it.
    "
    ALTER TABLE user_goal_progress ADD COLUMN baseline_version INTEGER;
    ALTER TABLE user_goal_progress ADD COLUMN baseline_told_at INTEGER;
    ",
];

/// Pages (of 4 KiB) in the write-ahead log at which it is copied into the database: rarely enough that a page
/// written many times is copied once, often enough that reading stays quick and the log stays under about 32 MiB.
const CHECKPOINT_PAGES: u32 = 8_000;
const WRITER_CACHE_KIB: i32 = 32 * 1024;
const READER_CACHE_KIB: i32 = 2 * 1024;

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// The disk: an acknowledged write survives a power cut.
    Full,
    /// The operating system: it survives the end of the process, not of the machine.
    Normal,
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its folder cannot be used.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process has it.
    #[error("{path} is in use by another process")]
    InUse {
        /// The database.
        path: String,
    },
    /// A newer version of this program wrote it.
    #[error("the database has schema version {found}, this program knows up to {known}")]
    Newer {
        /// The file's version.
        found: usize,
        /// The newest version known here.
        known: usize,
    },
    /// SQLite refused.
    #[error("the database cannot be used: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// The database's place on disk, held against other processes.
pub(super) struct Place {
    path: PathBuf,
    /// One process only: ids of events are remembered in memory beside the file.
    _lock: File,
    /// Removes a temporary database when dropped.
    _temporary: Option<tempfile::TempDir>,
}

impl Place {
    pub(super) fn take(path: Option<&Path>) -> Result<Self, OpenError> {
        let (path, temporary) = match path {
            Some(path) => (path.to_owned(), None),
            None => {
                let folder = tempfile::tempdir().map_err(|e| file_error(&std::env::temp_dir(), e))?;
                (folder.path().join("challenge.db"), Some(folder))
            }
        };
        let mut lock_path = path.clone().into_os_string();
        lock_path.push(".lock");
        let opened = OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
        let lock = opened.map_err(|e| file_error(Path::new(&lock_path), e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock, _temporary: temporary }),
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(OpenError::InUse { path: path.display().to_string() })
            }
            Err(std::fs::TryLockError::Error(e)) => Err(file_error(Path::new(&lock_path), e)),
        }
    }
}

fn file_error(path: &Path, source: std::io::Error) -> OpenError {
    OpenError::File { path: path.display().to_string(), source }
}

/// Opens the one connection that writes, and brings the schema up to date.
pub(super) fn open_writer(place: &Place, sync: Sync) -> Result<Connection, OpenError> {
    let connection = Connection::open(&place.path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let sync = match sync {
        Sync::Full => "FULL",
        Sync::Normal => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", sync)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(32);
    migrate(&connection)?;
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn open_reader(place: &Place) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&place.path, flags)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    Ok(connection)
}

fn migrate(connection: &Connection) -> Result<(), OpenError> {
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let found = usize::try_from(version).unwrap_or(usize::MAX);
    if found > MIGRATIONS.len() {
        return Err(OpenError::Newer { found, known: MIGRATIONS.len() });
    }
    for (step, sql) in MIGRATIONS.iter().enumerate().skip(found) {
        connection
            .execute_batch(&format!("BEGIN IMMEDIATE; {sql}; PRAGMA user_version = {}; COMMIT;", step + 1))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_a_newer_version_is_refused() {
        let place = Place::take(None).unwrap();
        open_writer(&place, Sync::Normal).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let refused = open_writer(&place, Sync::Normal).map(drop).unwrap_err();
        assert_eq!(refused.to_string(), "the database has schema version 99, this program knows up to 2");
    }

    #[test]
    fn a_database_of_the_first_version_is_brought_up_and_keeps_its_rows() {
        let place = Place::take(None).unwrap();
        let first = Connection::open(&place.path).unwrap();
        first.execute_batch(MIGRATIONS[0]).unwrap();
        first.pragma_update(None, "user_version", 1).unwrap();
        let row = "('ann', 'g', 7, 3, 1, 1000, NULL, NULL, 0, NULL)";
        first.execute_batch(&format!("INSERT INTO user_goal_progress VALUES {row}")).unwrap();
        drop(first);
        let now = open_writer(&place, Sync::Normal).unwrap();
        let kept = "SELECT count(*) FROM user_goal_progress WHERE value = 7 AND baseline_version IS NULL";
        assert_eq!(now.query_row(kept, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
    }

    #[test]
    fn opening_again_migrates_nothing_twice() {
        let place = Place::take(None).unwrap();
        drop(open_writer(&place, Sync::Full).unwrap());
        let again = open_writer(&place, Sync::Full).unwrap();
        let sync: i64 = again.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap();
        assert_eq!(sync, 2, "FULL");
    }
}
