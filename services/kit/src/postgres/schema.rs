//! Schema migrations: forward only, one step a version, and one replica at a time.

use tokio_postgres::Client;

use super::connect::{ConnectError, Connected};
use super::options::ServerOptions;

/// The key of the advisory lock held while migrating: any number that is not used otherwise in this database.
const MIGRATION_LOCK: i64 = 0x706c_696d_736f_6c6c;
const OLDEST_SERVER: i32 = 150_000;

/// Applies the missing migrations in one transaction. Replicas that start at the same time wait for each other.
///
/// # Errors
/// When the server refuses or is too old, or a newer program wrote the schema.
pub async fn migrate(
    connected: &Connected,
    options: &ServerOptions,
    migrations: &[&str],
) -> Result<(), ConnectError> {
    let client = &connected.client;
    let refused = |error: tokio_postgres::Error| options.refused(&error);
    check_version(client, options).await?;
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({MIGRATION_LOCK});
         CREATE TABLE IF NOT EXISTS schema_steps (step INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)"
    );
    client.batch_execute(&begin).await.map_err(refused)?;
    let newest =
        client.query_one("SELECT coalesce(max(step), 0) FROM schema_steps", &[]).await.map_err(refused)?;
    let found: i32 = newest.get(0);
    let known = i32::try_from(migrations.len()).unwrap_or(i32::MAX);
    if found > known {
        return Err(ConnectError::Newer { at: options.at(), found, known });
    }
    for (step, sql) in (1..).zip(migrations).filter(|(step, _)| *step > found) {
        let recorded = format!("{sql}; INSERT INTO schema_steps VALUES ({step}, now())");
        client.batch_execute(&recorded).await.map_err(refused)?;
    }
    client.batch_execute("COMMIT").await.map_err(refused)
}

async fn check_version(client: &Client, options: &ServerOptions) -> Result<(), ConnectError> {
    let query = "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let row = client.query_one(query, &[]).await.map_err(|error| options.refused(&error))?;
    if row.get::<_, i32>(0) < OLDEST_SERVER {
        return Err(ConnectError::Old { at: options.at(), found: row.get(1) });
    }
    Ok(())
}
