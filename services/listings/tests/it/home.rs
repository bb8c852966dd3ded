//! Where a test's data is kept: a folder of its own, and in the other test binary a database of its own as well.

use crate::STORE;
use kit::env::Env;
use listings::settings::{PREFIXES, Settings};
use peers::postgres::{Cluster, Options};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use tempfile::TempDir;

/// Which store the tests of a binary run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each test binary names one of them")]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// One server for all tests of a binary; each has a database of its own in it.
static CLUSTER: LazyLock<Cluster> =
    LazyLock::new(|| Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap());
static DATABASES: AtomicU32 = AtomicU32::new(0);

/// What a start needs whatever the store: any free ports, and callers who are believed.
/// On a machine that builds and tests at once, tasks wait for their turn for other reasons than ours.
pub(crate) const PORTS: [(&str, &str); 5] = [
    ("AUTH_ENABLED", "false"),
    ("RATE_LIMIT_ENABLED", "false"),
    ("WAIT_TARGET_MS", "0"),
    ("GRPC_PORT", "0"),
    ("HTTP_PORT", "0"),
];

/// One test's data.
pub(crate) struct Home {
    folder: TempDir,
    database: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let database = match STORE {
            Kind::Sqlite => String::new(),
            Kind::Postgres => {
                let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
                CLUSTER.create_database(&name).unwrap();
                name
            }
        };
        Self { folder: tempfile::tempdir().unwrap(), database }
    }

    /// For files of the test.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What a service finds in its environment to use this.
    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        match STORE {
            Kind::Sqlite => vec![("DATABASE_PATH", self.file())],
            Kind::Postgres => {
                let few = [("DB_WRITERS", "2".to_owned()), ("DB_READERS", "3".to_owned())];
                CLUSTER.env_for(&self.database).into_iter().chain(few).collect()
            }
        }
    }

    pub(crate) fn settings(&self, more: &[(&str, &str)]) -> Settings {
        let own = self.env();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let env = Env::of(PORTS.into_iter().chain(own).chain(more.iter().copied()));
        Settings::read(&env.with_prefixes(&PREFIXES)).unwrap()
    }

    fn file(&self) -> String {
        self.path().join("listings.db").display().to_string()
    }

    /// Runs a statement beside the service.
    pub(crate) fn run(&self, sql: &str) {
        match STORE {
            Kind::Sqlite => rusqlite::Connection::open(self.file()).unwrap().execute_batch(sql).unwrap(),
            Kind::Postgres => drop(CLUSTER.sql(&self.database, sql).unwrap()),
        }
    }

    /// A number from the database itself.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        match STORE {
            Kind::Sqlite => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                connection.query_row(sql, [], |row| row.get(0)).unwrap()
            }
            Kind::Postgres => CLUSTER.sql(&self.database, sql).unwrap().trim().parse().unwrap(),
        }
    }
}
