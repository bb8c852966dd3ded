//! The embedded database as the services use it: SQLite in WAL mode, one process, one connection that writes, and a few
//! that only read. Schema migrations go forward only, one step a version.

mod readers;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::private_files;
use crate::store::Migrations;
pub use readers::Readers;

/// Pages (of 4 KiB) in the write-ahead log at which it is copied into the database: rarely enough that a page written
/// many times is copied once, often enough that reads stay fast and the log stays under about 32 MiB.
const CHECKPOINT_PAGES: u32 = 8_000;
const WRITER_CACHE_KIB: i32 = 32 * 1024;
const READER_CACHE_KIB: i32 = 2 * 1024;
/// The `user_version` of a database whose steps are in its table: programs that look for them there refuse it.
const STEPS_IN_TABLE: i64 = 1_000_000;

/// How durable a commit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// It waits for the disk: an acknowledged write survives a power failure.
    Full,
    /// It waits for the operating system: a write survives the end of the process, not of the machine.
    Normal,
}

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file or its directory cannot be used.
    #[error("{path}: {source}")]
    File { path: String, source: std::io::Error },
    /// Another process uses it.
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

/// A process that has just ended, or a fork that has not become its program yet, may hold the lock for a moment.
const LOCK_LIMIT: Duration = Duration::from_secs(1);
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The path of the database, locked against other processes.
#[derive(Debug)]
pub struct DatabaseFile {
    path: PathBuf,
    /// One process only: a cache in memory would become stale.
    _lock: File,
    /// Removes a temporary database when dropped.
    _temporary: Option<tempfile::TempDir>,
}

impl DatabaseFile {
    /// Locks the database at `path`, or a temporary one of this file name that is removed when this is dropped.
    ///
    /// # Errors
    /// When another process uses it, or the directory cannot be used.
    pub fn acquire(path: Option<&Path>, name: &str) -> Result<Self, OpenError> {
        let (path, temporary) = match path {
            Some(path) => (path.to_owned(), None),
            None => {
                let folder =
                    private_files::temporary_folder().map_err(|e| file_error(&std::env::temp_dir(), e))?;
                (folder.path().join(name), Some(folder))
            }
        };
        let mut lock_path = path.clone().into_os_string();
        lock_path.push(".lock");
        let lock = private_files::open_or_create(Path::new(&lock_path));
        let lock = lock.map_err(|e| file_error(Path::new(&lock_path), e))?;
        let deadline = Instant::now() + LOCK_LIMIT;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { path, _lock: lock, _temporary: temporary }),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(LOCK_INTERVAL),
                Err(TryLockError::WouldBlock) => {
                    return Err(OpenError::InUse { path: path.display().to_string() });
                }
                Err(TryLockError::Error(e)) => return Err(file_error(Path::new(&lock_path), e)),
            }
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn file_error(path: &Path, source: std::io::Error) -> OpenError {
    OpenError::File { path: path.display().to_string(), source }
}

/// Opens the one connection that writes, and applies the missing `migrations`.
///
/// # Errors
/// When SQLite refuses, or a newer program wrote the schema.
pub fn open_writer(
    file: &DatabaseFile,
    sync: Sync,
    migrations: &Migrations,
) -> Result<Connection, OpenError> {
    // SQLite gives its log the mode of the database.
    private_files::open_or_create(&file.path).map_err(|error| file_error(&file.path, error))?;
    let connection = Connection::open(&file.path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    let sync = match sync {
        Sync::Full => "FULL",
        Sync::Normal => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", sync)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "cache_size", -WRITER_CACHE_KIB)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.set_prepared_statement_cache_capacity(64);
    migrate(&connection, migrations)?;
    Ok(connection)
}

/// Opens a connection that only reads.
///
/// # Errors
/// When SQLite refuses.
pub fn open_reader(file: &DatabaseFile) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&file.path, flags)?;
    connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn migrate(connection: &Connection, migrations: &Migrations) -> Result<(), OpenError> {
    let Migrations { service, steps, .. } = migrations;
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_steps (service TEXT NOT NULL, step INTEGER NOT NULL,
             PRIMARY KEY (service, step)) STRICT, WITHOUT ROWID",
    )?;
    adopt_unnamed(&transaction, migrations)?;
    let found = newest_step(&transaction, service)?;
    if found > steps.len() {
        return Err(OpenError::Newer { found, known: steps.len() });
    }
    for (step, sql) in (1_u32..).zip(*steps).skip(found) {
        transaction.execute_batch(sql)?;
        transaction.execute("INSERT INTO schema_steps VALUES (?1, ?2)", (service, step))?;
    }
    Ok(transaction.commit()?)
}

/// Steps used to be counted in `user_version`, which has no name: they are of the service whose first table exists,
/// unless it has steps of its own.
fn adopt_unnamed(connection: &Connection, migrations: &Migrations) -> Result<(), OpenError> {
    let Migrations { service, first_table, .. } = migrations;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let exists = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1";
    let is_first_made = connection.query_row(exists, [first_table], |row| row.get::<_, i64>(0))? > 0;
    let is_ours = is_first_made && newest_step(connection, service)? == 0;
    if version != 0 && !is_ours {
        return Ok(());
    }
    for step in 1..=version {
        connection.execute("INSERT INTO schema_steps VALUES (?1, ?2)", (service, step))?;
    }
    Ok(connection.pragma_update(None, "user_version", STEPS_IN_TABLE)?)
}

fn newest_step(connection: &Connection, service: &str) -> Result<usize, OpenError> {
    let newest = "SELECT coalesce(max(step), 0) FROM schema_steps WHERE service = ?1";
    let newest: u32 = connection.query_row(newest, [service], |row| row.get(0))?;
    Ok(newest as usize)
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, metadata, set_permissions, write};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const ONE: Migrations =
        Migrations { service: "one", first_table: "first", steps: &["CREATE TABLE first (x)"] };
    const TWO: Migrations = Migrations {
        service: "two",
        first_table: "second",
        steps: &["CREATE TABLE second (x)", "ALTER TABLE second ADD COLUMN y"],
    };

    fn steps(file: &DatabaseFile) -> String {
        let recorded = "SELECT group_concat(service || step, ' ' ORDER BY service, step) FROM schema_steps";
        open_reader(file).unwrap().query_row(recorded, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn two_services_in_one_database_have_steps_of_their_own() {
        let file = DatabaseFile::acquire(None, "shared.db").unwrap();
        for migrations in [ONE, TWO, ONE, TWO] {
            open_writer(&file, Sync::Normal, &migrations).unwrap();
        }
        assert_eq!(steps(&file), "one1 two1 two2");
        let older = Migrations { steps: &TWO.steps[..1], ..TWO };
        let refused = open_writer(&file, Sync::Normal, &older).map(drop).unwrap_err();
        assert_eq!(refused.to_string(), "the database has schema version 2, this program knows up to 1");
    }

    /// Whichever service starts first, the steps of before are their owner's.
    #[test]
    fn a_database_made_before_steps_had_names_still_works() {
        for order in [[ONE, TWO, TWO, ONE], [TWO, ONE, ONE, TWO]] {
            let file = DatabaseFile::acquire(None, "shared.db").unwrap();
            let before = Connection::open(file.path()).unwrap();
            before.execute_batch("CREATE TABLE second (x); PRAGMA user_version = 1").unwrap();
            for migrations in order {
                open_writer(&file, Sync::Normal, &migrations).unwrap();
            }
            assert_eq!(steps(&file), "one1 two1 two2");
        }
    }

    /// The modes of the database at `path` and of the files beside it, while it is open.
    fn modes(path: &Path) -> [u32; 4] {
        let file = DatabaseFile::acquire(Some(path), "").unwrap();
        let _writer = open_writer(&file, Sync::Normal, &ONE).unwrap();
        ["", "-wal", "-shm", ".lock"].map(|suffix| {
            let path = format!("{}{suffix}", path.display());
            metadata(&path).unwrap_or_else(|error| panic!("{path}: {error}")).permissions().mode() & 0o777
        })
    }

    #[test]
    fn a_new_database_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(modes(&folder.path().join("new.db")), [0o600; 4]);
    }

    #[test]
    fn a_database_that_is_there_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.db");
        write(&path, "").unwrap();
        set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(modes(&path), [0o640, 0o640, 0o640, 0o600]);
    }
}
