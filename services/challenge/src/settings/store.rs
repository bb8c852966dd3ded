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
    // One more connection is for maintenance.
    let most = server.max_connections(env, &["writes", "reads", "maintenance"])?;
    let writers = count(env, "DB_WRITERS", (most - 2).min(4), 64)?;
    Ok(PostgresOptions {
        server,
        writers,
        readers: count(env, "DB_READERS", (most - 1).saturating_sub(writers as u64).clamp(1, 2), 64)?,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(pairs: &[(&str, &str)]) -> Result<(usize, usize), String> {
        let env = Env::from_pairs([("DB_HOST", "there")].into_iter().chain(pairs.iter().copied()));
        match read(&env, Role::All).map_err(|error| error.to_string())? {
            StoreOptions::Postgres(options) => Ok((options.writers, options.readers)),
            StoreOptions::Sqlite(_) => Err("SQLite".to_owned()),
        }
    }

    #[test]
    fn a_limit_on_connections_is_kept_unless_their_numbers_are_set() {
        for (most, expected) in
            [("0", (4, 2)), ("3", (1, 1)), ("4", (2, 1)), ("6", (4, 1)), ("7", (4, 2)), ("25", (4, 2))]
        {
            assert_eq!(connections(&[("DB_MAX_OPEN_CONNS", most)]), Ok(expected), "{most}");
        }
        assert_eq!(connections(&[("DB_MAX_OPEN_CONNS", "7"), ("DB_WRITERS", "8")]), Ok((8, 1)));
        assert!(connections(&[("DB_MAX_OPEN_CONNS", "2")]).unwrap_err().starts_with("DB_MAX_OPEN_CONNS"));
    }
}
