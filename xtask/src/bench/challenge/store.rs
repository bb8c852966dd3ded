//! The databases that the service is measured on: each measurement gets a fresh one.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use peers::postgres::{ADMIN, Cluster};

use super::proc;

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];

    /// As on the command line and in the documentation's markers.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

/// Where databases are made.
pub(super) enum Store {
    /// Files in this folder.
    Sqlite(PathBuf),
    /// Databases of one server, and the process that is its head.
    Postgres { cluster: Cluster, head: u32 },
}

impl Store {
    /// Makes ready what databases of this kind need.
    ///
    /// # Errors
    /// When PostgreSQL cannot be started.
    pub(super) fn start(kind: Kind, folder: PathBuf) -> Result<Self> {
        match kind {
            Kind::Sqlite => Ok(Self::Sqlite(folder)),
            Kind::Postgres => {
                let cluster = Cluster::start().context("cannot start PostgreSQL")?;
                let file = cluster.sql(ADMIN, "SELECT pg_read_file('postmaster.pid')")?;
                let head = file.lines().next().and_then(|line| line.trim().parse().ok());
                Ok(Self::Postgres { cluster, head: head.context("PostgreSQL does not tell its process")? })
            }
        }
    }

    /// A fresh database, as the environment of a service that uses it.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub(super) fn database(&self) -> Result<Vec<(&'static str, String)>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("bench_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        match self {
            Self::Sqlite(folder) => {
                Ok(vec![("DATABASE_PATH", folder.join(format!("{name}.db")).display().to_string())])
            }
            Self::Postgres { cluster, .. } => {
                cluster.create_database(&name)?;
                Ok(cluster.env_for(&name).to_vec())
            }
        }
    }

    /// CPU-seconds that the database's own processes have taken so far; none for one inside the service.
    ///
    /// # Errors
    /// When the server has ended.
    pub(super) fn cpu_s(&self) -> Result<Option<f64>> {
        match self {
            Self::Sqlite(_) => Ok(None),
            Self::Postgres { head, .. } => proc::family_cpu_s(*head).map(Some),
        }
    }

    /// Its name and version.
    ///
    /// # Errors
    /// When the server does not answer.
    pub(super) fn version(&self) -> Result<String> {
        match self {
            Self::Sqlite(_) => Ok("SQLite in the service, `synchronous=FULL`".to_owned()),
            Self::Postgres { cluster, .. } => {
                let version = cluster.sql(ADMIN, "SHOW server_version")?;
                Ok(format!("PostgreSQL {}, `synchronous_commit=on`, `fsync=on`", version.trim()))
            }
        }
    }
}
