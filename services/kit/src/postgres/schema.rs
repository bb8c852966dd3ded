//! Schema migrations: forward only, one step a version, and one replica at a time, while others serve.
//!
//! A step must not stop them. It adds, and removes only what no program of a version that is still in use reads or
//! writes; it builds an index of an existing table by `CREATE INDEX CONCURRENTLY IF NOT EXISTS`, as its only statement.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::connect::{ConnectError, Connected};
use super::options::ServerOptions;
use crate::store::Migrations;

/// The key of the advisory lock of the session that migrates: any number that is not used otherwise in this database.
const MIGRATION_LOCK: i64 = 0x706c_696d_736f_6c6c;
const OLDEST_SERVER: i32 = 150_000;
/// The pause between two attempts to take the lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(100);
/// The pause between two attempts to run a step, in which those who waited behind it go on.
const STEP_PAUSE: Duration = Duration::from_secs(1);
const STEP_ATTEMPTS: u32 = 100;

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS schema_steps (step INTEGER NOT NULL, applied_at TIMESTAMPTZ NOT NULL,
        service TEXT NOT NULL DEFAULT '', PRIMARY KEY (service, step))";
const CONCURRENTLY: &str = "CREATE INDEX CONCURRENTLY IF NOT EXISTS";

/// A table made before steps had the name of their service; the rows that it contains then have none.
const ADD_NAMES: &str = "
    ALTER TABLE schema_steps ADD COLUMN service TEXT NOT NULL DEFAULT '', DROP CONSTRAINT schema_steps_pkey,
        ADD PRIMARY KEY (service, step)";

/// Rows without a name are of the service whose first table exists, unless it has rows of its own.
const ADOPT: &str = "
    UPDATE schema_steps SET service = $1 WHERE service = '' AND to_regclass($2) IS NOT NULL
        AND NOT EXISTS (SELECT FROM schema_steps WHERE service = $1)";

/// Applies the missing migrations, each in a transaction of its own, or outside of one when it builds an index
/// concurrently. Replicas that start at the same time wait for each other. Only a program of the newest step works then.
///
/// # Errors
/// When the server refuses or is too old, or a newer program wrote the schema.
pub async fn migrate(
    connected: &Connected,
    options: &ServerOptions,
    migrations: &Migrations,
) -> Result<(), ConnectError> {
    migrate_for(connected, options, migrations, migrations.steps.len()).await
}

/// As [`migrate`], but programs that know no more than the first `oldest` steps work then, too: replicas of such a program
/// go on, and may start.
///
/// # Errors
/// As [`migrate`].
pub async fn migrate_for(
    connected: &Connected,
    options: &ServerOptions,
    migrations: &Migrations,
    oldest: usize,
) -> Result<(), ConnectError> {
    let client = &connected.client;
    check_version(client, options).await?;
    let [known, oldest] =
        [migrations.steps.len(), oldest].map(|step| i32::try_from(step).unwrap_or(i32::MAX));
    let work = async {
        client.batch_execute("SET statement_timeout = 0").await?;
        lock(client).await?;
        let found = apply(client, migrations, known, oldest).await?;
        let unlock = format!("SELECT pg_advisory_unlock({MIGRATION_LOCK}); {}", options.session());
        client.batch_execute(&unlock).await?;
        Ok(found)
    };
    let found = work.await.map_err(|error| options.refused(&error))?;
    if found.oldest > known {
        return Err(ConnectError::Newer { at: options.at(), found: found.step, known });
    }
    Ok(())
}

/// Waits without a transaction: one that waits would keep an index from being built concurrently.
async fn lock(client: &Client) -> Result<(), Error> {
    let attempt = format!("SELECT pg_try_advisory_lock({MIGRATION_LOCK})");
    while !client.query_one(&attempt, &[]).await?.try_get::<_, bool>(0)? {
        tokio::time::sleep(LOCK_INTERVAL).await;
    }
    Ok(())
}

/// The newest step of a schema, and the step that a program must know at least.
struct Version {
    step: i32,
    oldest: i32,
}

async fn apply(client: &Client, migrations: &Migrations, known: i32, oldest: i32) -> Result<Version, Error> {
    let Migrations { service, first_table, steps } = migrations;
    client.batch_execute(TABLE).await?;
    let named =
        "SELECT count(*) FROM pg_attribute WHERE attrelid = 'schema_steps'::regclass AND attname = 'service'";
    if client.query_one(named, &[]).await?.try_get::<_, i64>(0)? == 0 {
        client.batch_execute(ADD_NAMES).await?;
    }
    client.batch_execute("ALTER TABLE schema_steps ADD COLUMN IF NOT EXISTS oldest INTEGER").await?;
    client.execute(ADOPT, &[service, first_table]).await?;
    let newest = "SELECT coalesce(max(step), 0), coalesce(max(oldest), max(step), 0) FROM schema_steps WHERE service = $1";
    let row = client.query_one(newest, &[service]).await?;
    let found = Version { step: row.try_get(0)?, oldest: row.try_get(1)? };
    if found.step >= known {
        return Ok(found);
    }
    for (step, sql) in (1_i32..).zip(*steps).filter(|(step, _)| *step > found.step) {
        Step { service, step, oldest, sql }.run(client).await?;
    }
    Ok(Version { step: known, oldest })
}

struct Step<'a> {
    service: &'a str,
    step: i32,
    /// As [`Version::oldest`].
    oldest: i32,
    sql: &'a str,
}

impl Step<'_> {
    /// Runs it, again when other transactions hold what it needs: it does not queue for long, because every statement
    /// behind it would queue as well.
    async fn run(&self, client: &Client) -> Result<(), Error> {
        let mut attempts = 1;
        loop {
            match self.attempt(client).await {
                Err(error) if attempts < STEP_ATTEMPTS && is_contended(&error) => {
                    let step = self.step;
                    tracing::warn!(step, "a migration waits for transactions of others; it is tried again");
                    client.batch_execute("ROLLBACK").await?;
                    tokio::time::sleep(STEP_PAUSE).await;
                    attempts += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn attempt(&self, client: &Client) -> Result<(), Error> {
        if let Some(index) = index_built_concurrently(self.sql) {
            drop_invalid(client, index).await?;
            client.batch_execute(self.sql).await?;
            return self.record(client).await;
        }
        client.batch_execute("BEGIN; SET LOCAL lock_timeout = '2s'").await?;
        client.batch_execute(self.sql).await?;
        self.record(client).await?;
        client.batch_execute("COMMIT").await
    }

    async fn record(&self, client: &Client) -> Result<(), Error> {
        let record =
            "INSERT INTO schema_steps (step, applied_at, service, oldest) VALUES ($1, now(), $2, $3)";
        client.execute(record, &[&self.step, &self.service, &self.oldest]).await.map(drop)
    }
}

fn is_contended(error: &Error) -> bool {
    [&SqlState::LOCK_NOT_AVAILABLE, &SqlState::T_R_DEADLOCK_DETECTED]
        .iter()
        .any(|code| error.code() == Some(code))
}

/// The index of `CREATE INDEX CONCURRENTLY IF NOT EXISTS name`; `None` for any other step.
fn index_built_concurrently(sql: &str) -> Option<&str> {
    sql.trim_start().strip_prefix(CONCURRENTLY)?.split_whitespace().next()
}

/// An index that could not be built stays, and is not used.
async fn drop_invalid(client: &Client, index: &str) -> Result<(), Error> {
    let invalid = "SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid";
    if client.query_opt(invalid, &[&index]).await?.is_some() {
        client.batch_execute(&format!("DROP INDEX CONCURRENTLY {index}")).await?;
    }
    Ok(())
}

async fn check_version(client: &Client, options: &ServerOptions) -> Result<(), ConnectError> {
    let query = "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let row = client.query_one(query, &[]).await.map_err(|error| options.refused(&error))?;
    if row.get::<_, i32>(0) < OLDEST_SERVER {
        return Err(ConnectError::Old { at: options.at(), found: row.get(1) });
    }
    Ok(())
}
