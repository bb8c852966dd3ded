//! The databases that the service is measured on: each measurement gets a fresh one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use peers::postgres::{ADMIN, Cluster, USER};

use crate::bench::proc;

/// One database: its name in the store, and the environment of a service that uses it.
pub(in crate::bench) struct Database {
    name: String,
    pub(in crate::bench) environment: Vec<(&'static str, String)>,
}

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum StoreKind {
    Sqlite,
    Postgres,
}

impl StoreKind {
    pub(in crate::bench) const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// As on the command line and in the documentation's markers.
    pub(in crate::bench) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// A store in which databases are created.
pub(in crate::bench) enum Store {
    /// Files in this folder.
    Sqlite(PathBuf),
    /// Databases of one server, and its main process.
    Postgres { cluster: Cluster, main_pid: u32 },
}

impl Store {
    /// Starts what databases of this kind need.
    ///
    /// # Errors
    /// When PostgreSQL cannot be started.
    pub(in crate::bench) fn start(kind: StoreKind, folder: PathBuf) -> Result<Self> {
        match kind {
            StoreKind::Sqlite => Ok(Self::Sqlite(folder)),
            StoreKind::Postgres => {
                let cluster = Cluster::start().context("cannot start PostgreSQL")?;
                let file = cluster.sql(ADMIN, "SELECT pg_read_file('postmaster.pid')")?;
                let main_pid = file.lines().next().and_then(|line| line.trim().parse().ok());
                let main_pid = main_pid.context("PostgreSQL's pid file has no process id")?;
                Ok(Self::Postgres { cluster, main_pid })
            }
        }
    }

    /// An empty database.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub(in crate::bench) fn database(&self) -> Result<Database> {
        let name = name();
        if let Self::Postgres { cluster, .. } = self {
            cluster.create_database(&name)?;
        }
        Ok(self.named(name))
    }

    /// Vacuums and analyses a database that no service uses any more, as PostgreSQL does after some time.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub(in crate::bench) fn vacuum(&self, database: &Database) -> Result<()> {
        if let Self::Postgres { cluster, .. } = self {
            cluster.sql(&database.name, "VACUUM ANALYZE")?;
        }
        Ok(())
    }

    /// A copy of a database that no service uses.
    ///
    /// # Errors
    /// When PostgreSQL refuses, or a file cannot be copied.
    pub(in crate::bench) fn copy(&self, original: &Database) -> Result<Database> {
        let name = name();
        match self {
            Self::Sqlite(folder) => {
                // What was written last may still be in the log beside the file.
                for part in ["db", "db-wal"] {
                    let [from, to] =
                        [&original.name, &name].map(|name| folder.join(name).with_extension(part));
                    if from.exists() {
                        std::fs::copy(&from, &to)
                            .with_context(|| format!("cannot copy {}", from.display()))?;
                    }
                }
            }
            Self::Postgres { cluster, .. } => {
                let from = &original.name;
                cluster.sql(ADMIN, &format!("CREATE DATABASE {name} TEMPLATE {from} OWNER {USER}"))?;
            }
        }
        Ok(self.named(name))
    }

    fn named(&self, name: String) -> Database {
        let environment = match self {
            Self::Sqlite(folder) => {
                vec![("DATABASE_PATH", folder.join(&name).with_extension("db").display().to_string())]
            }
            Self::Postgres { cluster, .. } => cluster.env_for(&name).to_vec(),
        };
        Database { name, environment }
    }

    /// CPU-seconds that the database's own processes have taken so far; none for one inside the service.
    ///
    /// # Errors
    /// When the server has ended.
    pub(in crate::bench) fn cpu_s(&self) -> Result<Option<f64>> {
        match self {
            Self::Sqlite(_) => Ok(None),
            Self::Postgres { main_pid, .. } => proc::family_cpu_s(*main_pid).map(Some),
        }
    }

    /// Its name and version.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(in crate::bench) fn version(&self) -> Result<String> {
        match self {
            Self::Sqlite(_) => Ok("SQLite in the service, `synchronous=FULL`".to_owned()),
            Self::Postgres { cluster, .. } => {
                let version = cluster.sql(ADMIN, "SHOW server_version")?;
                Ok(format!("PostgreSQL {}, `synchronous_commit=on`, `fsync=on`", version.trim()))
            }
        }
    }
}

/// A name that needs no quotes.
fn name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("bench_{}", COUNT.fetch_add(1, Ordering::Relaxed))
}
