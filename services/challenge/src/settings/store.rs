//! The settings of the store: PostgreSQL when `DB_HOST` is set, else the embedded SQLite.

use std::path::PathBuf;
use std::time::Duration;

use kit::env::{Env, EnvError};
use kit::postgres::ServerOptions;

use super::{SettingsError, count};
use crate::role::Role;
use crate::store::{EventIdWindow, PostgresOptions, SqliteOptions, StoreOptions, Sync};

/// `DATABASE_PATH` for a database that is deleted when the process ends.
const TEMPORARY: &str = ":temporary:";

pub(super) fn read(env: &Env, role: Role) -> Result<StoreOptions, SettingsError> {
    match ServerOptions::read(env, "challenge")? {
        Some(server) => Ok(StoreOptions::Postgres(postgres(env, server)?)),
        None if role == Role::All => Ok(StoreOptions::Sqlite(sqlite(env)?)),
        None => Err(SettingsError::Embedded),
    }
}

fn sqlite(env: &Env) -> Result<SqliteOptions, EnvError> {
    let path = match env.text("DATABASE_PATH").unwrap_or("challenge.db") {
        TEMPORARY => None,
        path => Some(PathBuf::from(path)),
    };
    Ok(SqliteOptions {
        path,
        sync: env.choice("DATABASE_SYNC", &[("full", Sync::Full), ("normal", Sync::Normal)])?,
        readers: count(env, "DATABASE_READERS", 4, 64)?,
        batch_delay: batch_delay(env)?,
        event_ids: EventIdWindow {
            age: ids_for(env)?,
            ids: count(env, "EVENT_ID_WINDOW_COUNT", 1_000_000, 100_000_000)?,
        },
    })
}

fn postgres(env: &Env, server: ServerOptions) -> Result<PostgresOptions, EnvError> {
    Ok(PostgresOptions {
        server,
        writers: count(env, "DB_WRITERS", 4, 64)?,
        readers: count(env, "DB_READERS", 2, 64)?,
        batch_delay: batch_delay(env)?,
        event_ids_for: ids_for(env)?,
    })
}

fn batch_delay(env: &Env) -> Result<Duration, EnvError> {
    env.within("COMMIT_LINGER_MS", 0, 0..=100).map(Duration::from_millis)
}

fn ids_for(env: &Env) -> Result<Duration, EnvError> {
    env.within("EVENT_ID_WINDOW_S", 3600, 1..=7 * 86_400).map(Duration::from_secs)
}
