//! The data of one test: a folder, and in the PostgreSQL test binary also a database.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use kit::env::Env;
use listings::settings::{PREFIXES, Settings};
use peers::postgres::{Cluster, Options};
use tempfile::TempDir;

use crate::STORE;

/// The store that the tests of a binary run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each test binary names one of them")]
pub(crate) enum StoreKind {
    Sqlite,
    Postgres,
}

/// One server for all tests of a binary; each test has its own database.
static CLUSTER: LazyLock<Cluster> =
    LazyLock::new(|| Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap());
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// Settings of every test: free ports, and callers that are not verified. Admission control is off, because on a
/// machine that builds and tests at once tasks also wait for other reasons than load on the service.
pub(crate) const BASE_SETTINGS: [(&str, &str); 5] = [
    ("AUTH_ENABLED", "false"),
    ("RATE_LIMIT_ENABLED", "false"),
    ("WAIT_TARGET_MS", "0"),
    ("GRPC_PORT", "0"),
    ("HTTP_PORT", "0"),
];

/// The data of one test.
pub(crate) struct TestStore {
    folder: TempDir,
    database: String,
}

impl TestStore {
    pub(crate) fn new() -> Self {
        let database = match STORE {
            StoreKind::Sqlite => String::new(),
            StoreKind::Postgres => {
                let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
                CLUSTER.create_database(&name).unwrap();
                name
            }
        };
        Self { folder: tempfile::tempdir().unwrap(), database }
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The environment of a service that uses this store.
    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        match STORE {
            StoreKind::Sqlite => vec![("DATABASE_PATH", self.file())],
            StoreKind::Postgres => {
                let connections = [("DB_WRITERS", "2".to_owned()), ("DB_READERS", "3".to_owned())];
                CLUSTER.env_for(&self.database).into_iter().chain(connections).collect()
            }
        }
    }

    pub(crate) fn settings(&self, more: &[(&str, &str)]) -> Settings {
        let own = self.env();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let env = Env::of(BASE_SETTINGS.into_iter().chain(own).chain(more.iter().copied()));
        Settings::read(&env.with_prefixes(&PREFIXES)).unwrap()
    }

    fn file(&self) -> String {
        self.path().join("listings.db").display().to_string()
    }

    /// Runs a statement directly on the database.
    pub(crate) fn run(&self, sql: &str) {
        match STORE {
            StoreKind::Sqlite => rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql).unwrap(),
            StoreKind::Postgres => drop(CLUSTER.sql(&self.database, sql).unwrap()),
        }
    }

    /// A number read directly from the database.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        match STORE {
            StoreKind::Sqlite => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                connection.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            StoreKind::Postgres => CLUSTER.sql(&self.database, sql).unwrap().trim().parse().unwrap(),
        }
    }
}
