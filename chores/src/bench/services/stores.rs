//! The servers behind a service: PostgreSQL, and Redis.

use anyhow::{Context as _, Result};
use peers::postgres::{ADMIN, Cluster};
use peers::redis::Redis;

use crate::bench::proc;

const DATABASE: &str = "bench";

/// What is behind a service.
#[derive(Clone, Copy)]
pub(super) enum StoreKind {
    InProcess,
    Postgres,
    PostgresAndRedis,
}

/// The servers that a service uses; none when its store is a file of its own.
pub(super) struct Stores {
    postgres: Option<(Cluster, u32)>,
    redis: Option<Redis>,
}

impl Stores {
    /// Starts them, with an empty database.
    ///
    /// # Errors
    /// When one of them does not start.
    pub(super) fn start(kind: StoreKind) -> Result<Self> {
        let postgres = match kind {
            StoreKind::InProcess => None,
            StoreKind::Postgres | StoreKind::PostgresAndRedis => Some(postgres()?),
        };
        let redis = match kind {
            StoreKind::PostgresAndRedis => Some(Redis::start(&[]).context("cannot start Redis")?),
            StoreKind::InProcess | StoreKind::Postgres => None,
        };
        Ok(Self { postgres, redis })
    }

    /// How a service finds them.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let postgres = self.postgres.iter().flat_map(|(cluster, _)| cluster.env_for(DATABASE));
        let redis = self.redis.iter().map(|redis| ("REDIS_URL", format!("redis://{}", redis.address())));
        postgres.chain(redis).collect()
    }

    /// Vacuums and analyses the database, as PostgreSQL does after some time.
    ///
    /// # Errors
    /// When PostgreSQL refuses.
    pub(super) fn vacuum(&self) -> Result<()> {
        if let Some((cluster, _)) = &self.postgres {
            cluster.sql(DATABASE, "VACUUM ANALYZE")?;
        }
        Ok(())
    }

    /// CPU-seconds of their processes so far; nothing without any.
    ///
    /// # Errors
    /// When one of them has ended.
    pub(super) fn cpu_s(&self) -> Result<Option<f64>> {
        let postgres = self.postgres.iter().map(|(_, pid)| *pid);
        let pids = postgres.chain(self.redis.iter().map(Redis::pid));
        let of_each = pids.map(proc::family_cpu_s).collect::<Result<Vec<f64>>>()?;
        Ok((!of_each.is_empty()).then(|| of_each.iter().sum()))
    }
}

/// PostgreSQL with its main process.
fn postgres() -> Result<(Cluster, u32)> {
    let cluster = Cluster::start().context("cannot start PostgreSQL")?;
    cluster.create_database(DATABASE)?;
    let file = cluster.sql(ADMIN, "SELECT pg_read_file('postmaster.pid')")?;
    let pid = file.lines().next().and_then(|line| line.trim().parse().ok());
    Ok((cluster, pid.context("PostgreSQL's pid file has no process id")?))
}
