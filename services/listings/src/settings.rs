//! Settings of one process, from the environment. The README lists every variable. A variable may have one of two
//! prefixes that existing deployments use; the newer prefix takes precedence, and the bare name comes last.

mod names;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kit::auth::Roles;
use kit::env::{Env, EnvError};
use kit::exposure::{self, Callers, Exposure};
use kit::postgres::ServerOptions;

use crate::categories::{self, CategoriesError, RequiredCategories};
use crate::limiter::{LimitSettings, SettingsError as LimitError};
use crate::redis_link::RedisLink;
use crate::store::{PostgresOptions, SqliteOptions, StoreOptions, Sync};

pub use names::without_effect;

/// Prefixes of variables, in order of precedence.
pub const PREFIXES: [&str; 2] = ["SVETULISTINGS_", "VONDILISTINGS_"];

/// The value of `DATABASE_PATH` for a database that is deleted when the process ends.
const TEMPORARY: &str = ":temporary:";

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable cannot be used.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// The limits cannot be used.
    #[error(transparent)]
    Limits(#[from] LimitError),
    /// The categories cannot be used.
    #[error(transparent)]
    Categories(#[from] CategoriesError),
    /// Callers could not be identified.
    #[error(
        "callers cannot be identified: set AUTH_JWKS_URL to the keys of bearer tokens, or AUTH_ENABLED=false to trust \
         the user ids in requests of this machine"
    )]
    NoIdentity,
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// Who can reach the service.
    pub exposure: Exposure,
    /// How bearer tokens are verified; `None` when callers are not verified.
    pub tokens: Option<kit::auth::Settings>,
    /// The names of services and administrators in tokens.
    pub roles: Roles,
    /// The address of the gRPC port.
    pub grpc: SocketAddr,
    /// The address of the HTTP port.
    pub http: SocketAddr,
    /// The address of the operators' port: health and metrics.
    pub admin: SocketAddr,
    pub store: StoreOptions,
    /// The categories that it must have.
    pub categories: RequiredCategories,
    /// The Redis that replicas share for cached answers and rate limits.
    pub redis: Option<RedisLink>,
    /// Bytes of answers cached in the process; 0 turns caching off.
    pub cache_bytes: usize,
    /// How long cached answers may have older counts of views.
    pub counts_for: Duration,
    /// Rate limits.
    pub limits: LimitSettings,
    /// Calls worked on at once.
    pub in_flight: usize,
    /// How long a runnable task may wait for a thread before connections are limited; zero limits none.
    pub wait_target: Duration,
    /// Open connections at once on each port.
    pub connections: usize,
    /// Time to finish on SIGTERM.
    pub drain: Duration,
}

impl Settings {
    /// Reads all settings.
    ///
    /// # Errors
    /// When a variable cannot be used, or callers could not be identified.
    pub fn read(env: &Env) -> Result<Self, SettingsError> {
        let env = &names::translated(env)?;
        let is_on =
            env.choice("AUTH_ENABLED", &[("true", true), ("false", false)])? && !exposure::is_off(env)?;
        let namespace = env.text("AUTH_NAMESPACE").unwrap_or("listings");
        let tokens = if is_on { kit::auth::Settings::read(env, namespace)? } else { None };
        if is_on && tokens.is_none() {
            return Err(SettingsError::NoIdentity);
        }
        let (grpc, http) = (env.address("GRPC_PORT", 50_053)?, env.address("HTTP_PORT", 8086)?);
        let admin = operators_address(env)?;
        let callers = if tokens.is_some() { Callers::Verified } else { Callers::Trusted };
        Ok(Self {
            exposure: Exposure::read(env, callers, &[grpc, http, admin])?,
            tokens,
            roles: Roles::read(env),
            grpc,
            http,
            admin,
            store: match ServerOptions::read(env, "listings")? {
                Some(server) => StoreOptions::Postgres(postgres(env, server)?),
                None => StoreOptions::Sqlite(sqlite(env)?),
            },
            categories: match env.text("CATEGORIES_FILE") {
                Some(path) => RequiredCategories::These(categories::read(Path::new(path))?),
                None => RequiredCategories::Stored,
            },
            redis: redis(env)?,
            cache_bytes: usize::try_from(env.within("CACHE_MB", 128, 0..=65_536)?).unwrap_or(0) << 20,
            counts_for: Duration::from_secs(env.within("VIEWS_SHOW_WITHIN_S", 30, 1..=300)?),
            limits: LimitSettings::read(env)?,
            in_flight: count(env, "MAX_IN_FLIGHT", 1_024, 100_000)?,
            wait_target: Duration::from_millis(env.within("WAIT_TARGET_MS", 10, 0..=10_000)?),
            connections: count(env, "MAX_CONNECTIONS", 8_192, 100_000)?,
            drain: Duration::from_secs(env.within("DRAIN_TIMEOUT_S", 10, 1..=3600)?),
        })
    }
}

fn sqlite(env: &Env) -> Result<SqliteOptions, EnvError> {
    let path = match env.text("DATABASE_PATH").unwrap_or("listings.db") {
        TEMPORARY => None,
        path => Some(PathBuf::from(path)),
    };
    Ok(SqliteOptions {
        path,
        sync: env.choice("DATABASE_SYNC", &[("full", Sync::Full), ("normal", Sync::Normal)])?,
        readers: count(env, "DATABASE_READERS", 4, 64)?,
        batching_delay: batching_delay(env)?,
    })
}

fn postgres(env: &Env, server: ServerOptions) -> Result<PostgresOptions, EnvError> {
    let most = server.max_connections(env, &["writes", "reads", "searches", "maintenance"])?;
    let writers = count(env, "DB_WRITERS", (most - 3).min(4), 64)?;
    let left = (most - 2).saturating_sub(writers as u64);
    let readers = count(env, "DB_READERS", left.clamp(1, 8), 64)?;
    let left = (most - 1).saturating_sub((writers + readers) as u64);
    Ok(PostgresOptions {
        server,
        writers,
        readers,
        search_readers: count(env, "DB_SEARCH_READERS", left.clamp(1, 4), 64)?,
        batching_delay: batching_delay(env)?,
    })
}

fn batching_delay(env: &Env) -> Result<Duration, EnvError> {
    env.within("COMMIT_LINGER_MS", 0, 0..=100).map(Duration::from_millis)
}

fn redis(env: &Env) -> Result<Option<RedisLink>, EnvError> {
    let Some(url) = env.text("REDIS_URL") else { return Ok(None) };
    // The address may contain a password, so the error does not repeat it.
    let refused = |error: redis::RedisError| EnvError {
        name: "REDIS_URL",
        value: "(hidden)".to_owned(),
        expected: format!("redis://HOST:PORT/: {error}"),
    };
    RedisLink::new(url).map(Some).map_err(refused)
}

fn count(env: &Env, name: &'static str, default: u64, max: u64) -> Result<usize, EnvError> {
    env.within(name, default, 1..=max).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// The address at which a process with this environment says whether it is ready.
///
/// # Errors
/// When a variable cannot be used.
pub fn operators_address(env: &Env) -> Result<SocketAddr, EnvError> {
    env.address("ADMIN_PORT", 9093)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_authentication_are_refused_unless_it_is_turned_off() {
        assert!(matches!(Settings::read(&Env::from_pairs([])), Err(SettingsError::NoIdentity)));
        let settings = Settings::read(&Env::from_pairs([("AUTH_ENABLED", "false")])).unwrap();
        assert!(settings.tokens.is_none() && settings.limits.is_on);
        let ports = [settings.grpc, settings.http, settings.admin].map(|address| address.port());
        assert_eq!(ports, [50_053, 8086, 9093]);
    }

    #[test]
    fn callers_of_other_machines_are_trusted_only_with_auth_off() {
        let read = |pairs: [(&str, &str); 2]| {
            Settings::read(&Env::from_pairs(pairs.into_iter().chain([("BIND_ADDRESS", "0.0.0.0")])))
        };
        let error = read([("AUTH_ENABLED", "false"), ("", "")]).unwrap_err().to_string();
        assert!(error.contains("0.0.0.0:50053") && error.contains("AUTH=off"), "{error}");
        assert_eq!(read([("AUTH", "off"), ("", "")]).unwrap().exposure, Exposure::Anyone);
        let keys = [("AUTH_JWKS_URL", "http://127.0.0.1:1/keys"), ("AUTH_ISSUER", "i")];
        assert_eq!(read(keys).unwrap().exposure, Exposure::Verified);
    }

    #[test]
    fn the_newer_prefix_precedes_the_older_and_both_precede_the_bare_name() {
        let read = |pairs: &[(&str, &str)]| {
            let env = Env::from_pairs(pairs.iter().copied().chain([("AUTH_ENABLED", "false")]));
            Settings::read(&env.with_prefixes(&PREFIXES)).unwrap()
        };
        let old = ("VONDILISTINGS_RATE_LIMIT_ENABLED", "false");
        assert!(!read(&[old]).limits.is_on);
        assert!(read(&[old, ("SVETULISTINGS_RATE_LIMIT_ENABLED", "true")]).limits.is_on);
        assert!(!read(&[old, ("RATE_LIMIT_ENABLED", "true")]).limits.is_on);
    }

    /// Every variable in the sources, found by the form of its name.
    #[test]
    fn every_variable_is_documented() {
        let documentation = include_str!("../README.md");
        let sources = [
            include_str!("settings.rs"),
            include_str!("settings/names.rs"),
            include_str!("limiter/settings.rs"),
            include_str!("../../kit/src/profiling.rs"),
            include_str!("main.rs"),
            include_str!("../../kit/src/logs.rs"),
            include_str!("../../kit/src/auth/roles.rs"),
            include_str!("../../kit/src/auth/tokens/settings.rs"),
            include_str!("../../kit/src/postgres/options.rs"),
        ];
        let is_variable = |text: &&str| {
            text.len() > 3 && text.contains('_') && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        let names: Vec<&str> =
            sources.iter().flat_map(|source| source.split('"')).filter(is_variable).collect();
        assert!(names.len() > 30);
        for name in names {
            let bare = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).filter(|n| !n.is_empty());
            let name = bare.unwrap_or(name);
            assert!(documentation.contains(&format!("`{name}`")), "{name}");
        }
    }
}
