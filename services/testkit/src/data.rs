//! The data of one test of a service: a folder, and with PostgreSQL a database besides. The tests of every service with
//! two stores use this file.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use peers::postgres::{Cluster, Options};
use tempfile::TempDir;

/// A store of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    Sqlite,
    Postgres,
}

/// The store that tests run against unless they need PostgreSQL: the embedded one, and where the variable `TEST_STORE` is
/// `postgres` that one. Both stores have the same behaviour, so the same tests run against both.
pub fn usual_store() -> StoreKind {
    match std::env::var("TEST_STORE").as_deref() {
        Err(_) => StoreKind::Sqlite,
        Ok("postgres") => StoreKind::Postgres,
        Ok(other) => panic!("TEST_STORE={other}; it is `postgres`, or unset for the embedded store"),
    }
}

/// One server for all tests of a binary; each test has a database of its own.
static CLUSTER: LazyLock<Cluster> =
    LazyLock::new(|| Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap());
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// A folder, and the database of a service: a file in it, or one of the server.
pub struct TestDatabase {
    pub kind: StoreKind,
    folder: TempDir,
    database: String,
}

impl TestDatabase {
    /// In the store that the tests run against.
    #[expect(clippy::new_without_default, reason = "it creates files and may start a server")]
    pub fn new() -> Self {
        Self::of(usual_store())
    }

    pub fn postgres() -> Self {
        Self::of(StoreKind::Postgres)
    }

    fn of(kind: StoreKind) -> Self {
        let database = match kind {
            StoreKind::Sqlite => String::new(),
            StoreKind::Postgres => {
                let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
                CLUSTER.create_database(&name).unwrap();
                name
            }
        };
        Self { kind, folder: tempfile::tempdir().unwrap(), database }
    }

    /// For files of the test.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The environment of a service that uses this database.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        match self.kind {
            StoreKind::Sqlite => vec![("DATABASE_PATH", self.file())],
            StoreKind::Postgres => {
                let connections = [("DB_WRITERS", "2"), ("DB_READERS", "3"), ("DB_SEARCH_READERS", "2")];
                let connections = connections.map(|(name, value)| (name, value.to_owned()));
                CLUSTER.env_for(&self.database).into_iter().chain(connections).collect()
            }
        }
    }

    /// The file of the embedded store.
    pub fn file(&self) -> String {
        self.path().join("service.db").display().to_string()
    }

    /// Runs a statement beside the service.
    pub fn run(&self, sql: &str) {
        match self.kind {
            StoreKind::Sqlite => rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql).unwrap(),
            StoreKind::Postgres => drop(CLUSTER.sql(&self.database, sql).unwrap()),
        }
    }

    /// The number that a query returns.
    pub fn count(&self, sql: &str) -> i64 {
        match self.kind {
            StoreKind::Sqlite => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                connection.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            StoreKind::Postgres => CLUSTER.sql(&self.database, sql).unwrap().trim().parse().unwrap(),
        }
    }
}
