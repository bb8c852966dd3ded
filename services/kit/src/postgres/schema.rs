//! Schema migrations: forward only, one step a version, and one replica at a time.

use tokio_postgres::{Client, Error};

use super::connect::{ConnectError, Connected};
use super::options::ServerOptions;
use crate::store::Migrations;

/// The key of the advisory lock held while migrating: any number that is not used otherwise in this database.
const MIGRATION_LOCK: i64 = 0x706c_696d_736f_6c6c;
const OLDEST_SERVER: i32 = 150_000;

/// A table made before steps had the name of their service; the rows that it contains then have none.
const ADD_NAMES: &str = "
    ALTER TABLE schema_steps ADD COLUMN service TEXT NOT NULL DEFAULT '', DROP CONSTRAINT schema_steps_pkey,
        ADD PRIMARY KEY (service, step)";

/// Rows without a name are of the service whose first table exists, unless it has rows of its own.
const ADOPT: &str = "
    UPDATE schema_steps SET service = $1 WHERE service = '' AND to_regclass($2) IS NOT NULL
        AND NOT EXISTS (SELECT FROM schema_steps WHERE service = $1)";

/// Applies the missing migrations in one transaction. Replicas that start at the same time wait for each other.
///
/// # Errors
/// When the server refuses or is too old, or a newer program wrote the schema.
pub async fn migrate(
    connected: &Connected,
    options: &ServerOptions,
    migrations: &Migrations,
) -> Result<(), ConnectError> {
    check_version(&connected.client, options).await?;
    let applied = apply(&connected.client, migrations).await.map_err(|error| options.refused(&error))?;
    match applied {
        Applied::All => Ok(()),
        Applied::Newer { found, known } => Err(ConnectError::Newer { at: options.at(), found, known }),
    }
}

enum Applied {
    All,
    Newer { found: i32, known: i32 },
}

async fn apply(client: &Client, migrations: &Migrations) -> Result<Applied, Error> {
    let Migrations { service, first_table, steps } = migrations;
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATION_LOCK});
         CREATE TABLE IF NOT EXISTS schema_steps (step INTEGER NOT NULL, applied_at TIMESTAMPTZ NOT NULL,
             service TEXT NOT NULL DEFAULT '', PRIMARY KEY (service, step))"
    );
    client.batch_execute(&begin).await?;
    let named =
        "SELECT count(*) FROM pg_attribute WHERE attrelid = 'schema_steps'::regclass AND attname = 'service'";
    if client.query_one(named, &[]).await?.try_get::<_, i64>(0)? == 0 {
        client.batch_execute(ADD_NAMES).await?;
    }
    client.execute(ADOPT, &[service, first_table]).await?;
    let newest = "SELECT coalesce(max(step), 0) FROM schema_steps WHERE service = $1";
    let found: i32 = client.query_one(newest, &[service]).await?.try_get(0)?;
    let known = i32::try_from(steps.len()).unwrap_or(i32::MAX);
    if found > known {
        client.batch_execute("ROLLBACK").await?;
        return Ok(Applied::Newer { found, known });
    }
    for (step, sql) in (1_i32..).zip(*steps).filter(|(step, _)| *step > found) {
        client.batch_execute(sql).await?;
        let record = "INSERT INTO schema_steps (step, applied_at, service) VALUES ($1, now(), $2)";
        client.execute(record, &[&step, service]).await?;
    }
    client.batch_execute("COMMIT").await?;
    Ok(Applied::All)
}

async fn check_version(client: &Client, options: &ServerOptions) -> Result<(), ConnectError> {
    let query = "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let row = client.query_one(query, &[]).await.map_err(|error| options.refused(&error))?;
    if row.get::<_, i32>(0) < OLDEST_SERVER {
        return Err(ConnectError::Old { at: options.at(), found: row.get(1) });
    }
    Ok(())
}
