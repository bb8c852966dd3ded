//! The schema in PostgreSQL: forward only, one step a version, and one replica at a time.

use super::connect::{ConnectError, Connected, PostgresOptions};
use tokio_postgres::Client;

/// Each entry brings the schema from its place to the next. Entries are never changed, only added.
///
/// Every table begins with the user, who is part of every key: split by user, each statement stays on one shard.
/// `players` has a row for each user who was ever written: locking it makes the user's writes take turns over all
/// replicas. `user_goal_progress` has no index besides its key, so that an update of a row stays on its page.
/// `event_ids` is written in the order of time, so a block-range index finds what has expired at no cost to writes.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE players (
        user_id TEXT PRIMARY KEY
    );
    CREATE TABLE user_goal_progress (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        value INTEGER NOT NULL CHECK (value >= 0),
        baseline_value INTEGER,
        is_active BOOLEAN NOT NULL,
        assigned_at TIMESTAMPTZ,
        completed_at TIMESTAMPTZ,
        claimed_at TIMESTAMPTZ CHECK (claimed_at IS NULL OR completed_at IS NOT NULL),
        period BIGINT NOT NULL DEFAULT 0,
        expires_at TIMESTAMPTZ,
        baseline_version BIGINT,
        baseline_told_at TIMESTAMPTZ,
        PRIMARY KEY (user_id, goal_id)
    ) WITH (fillfactor = 85);
    CREATE TABLE event_ids (
        user_id TEXT NOT NULL,
        event_key UUID NOT NULL,
        seen_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (user_id, event_key)
    );
    CREATE INDEX event_ids_seen_at ON event_ids USING brin (seen_at);
    CREATE TABLE claims (
        user_id TEXT NOT NULL,
        goal_id TEXT NOT NULL,
        period BIGINT NOT NULL,
        idempotency_key TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        requested_at TIMESTAMPTZ NOT NULL,
        granted_at TIMESTAMPTZ,
        PRIMARY KEY (user_id, goal_id, period)
    );
    CREATE INDEX claims_pending ON claims (requested_at) WHERE granted_at IS NULL;
    CREATE TABLE reward_ledger (
        user_id TEXT NOT NULL,
        idempotency_key TEXT NOT NULL,
        reward_type TEXT NOT NULL,
        reward_id TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        granted_at TIMESTAMPTZ NOT NULL,
        PRIMARY KEY (user_id, idempotency_key)
    );
"];

/// Held while migrating; any number that nobody else uses in this database.
const LOCK: i64 = 0x706c_696d_736f_6c6c;
const OLDEST_SERVER: i32 = 150_000;

/// Brings the schema up to date. Replicas that start at once wait for each other; all of it happens or nothing.
pub(super) async fn migrate(connected: &Connected, options: &PostgresOptions) -> Result<(), ConnectError> {
    let client = &connected.client;
    let refused = |error: tokio_postgres::Error| options.refused(&error);
    check_version(client, options).await?;
    let begin = format!(
        "BEGIN; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock({LOCK});
         CREATE TABLE IF NOT EXISTS schema_steps (step INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)"
    );
    client.batch_execute(&begin).await.map_err(refused)?;
    let newest =
        client.query_one("SELECT coalesce(max(step), 0) FROM schema_steps", &[]).await.map_err(refused)?;
    let found: i32 = newest.get(0);
    let known = i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX);
    if found > known {
        return Err(ConnectError::Newer { at: options.at(), found, known });
    }
    for (step, sql) in (1..).zip(MIGRATIONS).filter(|(step, _)| *step > found) {
        let recorded = format!("{sql}; INSERT INTO schema_steps VALUES ({step}, now())");
        client.batch_execute(&recorded).await.map_err(refused)?;
    }
    client.batch_execute("COMMIT").await.map_err(refused)
}

async fn check_version(client: &Client, options: &PostgresOptions) -> Result<(), ConnectError> {
    let asked = "SELECT current_setting('server_version_num')::int, current_setting('server_version')";
    let row = client.query_one(asked, &[]).await.map_err(|error| options.refused(&error))?;
    if row.get::<_, i32>(0) < OLDEST_SERVER {
        return Err(ConnectError::Old { at: options.at(), found: row.get(1) });
    }
    Ok(())
}
