//! A test's data: a folder of its own, and with PostgreSQL a database of its own as well.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use challenge::role::Role;
use challenge::settings::Settings;
use kit::env::Env;
use peers::postgres::{Cluster, Options};
use tempfile::TempDir;

use crate::STORE;

/// Which store the tests of a binary run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each test binary names one of them")]
pub(crate) enum StoreKind {
    Sqlite,
    Postgres,
}

/// One server for all tests of a binary; each has a database of its own in it.
static CLUSTER: LazyLock<Cluster> =
    LazyLock::new(|| Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap());
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// Settings for every store: any free ports, and the test identity header. Without a wait target, because on a machine
/// that builds and tests at once, tasks wait for the processor.
pub(crate) const PORTS: [(&str, &str); 6] = [
    ("TEST_IDENTITY_HEADER", "on"),
    ("WAIT_TARGET_MS", "0"),
    ("HTTP_PORT", "0"),
    ("GRPC_PORT", "0"),
    ("EVENTS_PORT", "0"),
    ("ADMIN_PORT", "0"),
];

/// One test's data.
pub(crate) struct TestDatabase {
    folder: TempDir,
    name: String,
}

impl TestDatabase {
    pub(crate) fn new() -> Self {
        let name = match STORE {
            StoreKind::Sqlite => String::new(),
            StoreKind::Postgres => {
                let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
                CLUSTER.create_database(&name).unwrap();
                name
            }
        };
        Self { folder: tempfile::tempdir().unwrap(), name }
    }

    /// For files of the test.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The environment of a service that uses this database.
    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        match STORE {
            StoreKind::Sqlite => vec![("DATABASE_PATH", self.file())],
            StoreKind::Postgres => {
                let writers = [("DB_WRITERS", "2".to_owned())];
                CLUSTER.env_for(&self.name).into_iter().chain(writers).collect()
            }
        }
    }

    pub(crate) fn settings(&self, more: &[(&str, &str)]) -> Settings {
        let own = self.env();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        Settings::read(&Env::of(PORTS.into_iter().chain(own).chain(more.iter().copied())), Role::All).unwrap()
    }

    fn file(&self) -> String {
        self.path().join("challenge.db").display().to_string()
    }

    /// Runs a statement beside the service.
    pub(crate) fn run(&self, sql: &str) {
        match STORE {
            StoreKind::Sqlite => rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql).unwrap(),
            StoreKind::Postgres => drop(CLUSTER.sql(&self.name, sql).unwrap()),
        }
    }

    /// The number that a query returns.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        match STORE {
            StoreKind::Sqlite => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                connection.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            StoreKind::Postgres => CLUSTER.sql(&self.name, sql).unwrap().trim().parse().unwrap(),
        }
    }

    /// Whether a table has a column of this name.
    pub(crate) fn has_column(&self, table: &str, column: &str) -> bool {
        let columns = match STORE {
            StoreKind::Sqlite => format!("pragma_table_info('{table}') WHERE name = '{column}'"),
            StoreKind::Postgres => {
                format!(
                    "information_schema.columns WHERE table_name = '{table}' AND column_name = '{column}'"
                )
            }
        };
        self.count(&format!("SELECT count(*) FROM {columns}")) > 0
    }

    /// Makes open claims older than any claim takes, so that none counts as in flight.
    pub(crate) fn age_claims(&self) {
        self.run(match STORE {
            StoreKind::Sqlite => "UPDATE claims SET requested_at = requested_at - 3600000",
            StoreKind::Postgres => "UPDATE claims SET requested_at = requested_at - interval '1 hour'",
        });
    }
}
