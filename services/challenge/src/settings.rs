//! The settings of one process, from the environment. The table in `docs/challenge.md` lists every variable.

mod names;
mod rewards;
mod store;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kit::auth::Roles;
use kit::env::{Env, EnvError};
use kit::exposure::{Callers, Exposure};

use crate::claims::ClaimPolicy;
use crate::events::Acknowledge;
use crate::identity::TestHeader;
use crate::rewards::RewardSettings;
use crate::role::Role;
use crate::store::StoreOptions;
pub use names::without_effect;

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable cannot be used.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// No way to authenticate callers is configured.
    #[error(
        "callers cannot be authenticated: set AUTH_JWKS_URL to the keys of bearer tokens, or TEST_IDENTITY_HEADER=on, \
         which makes x-mock-user-id name the user, for tests only"
    )]
    NoIdentity,
    /// Two processes cannot share an embedded database.
    #[error(
        "`challenge api` and `challenge events` are for several processes, which the embedded database cannot serve: \
         name a PostgreSQL server with DB_HOST, or start `challenge all`"
    )]
    Embedded,
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// Begins with `/` and ends without, or is empty.
    pub base_path: String,
    /// The namespace of this deployment; events of others are ignored.
    pub namespace: String,
    /// Whether the test identity header names users.
    pub test_header: TestHeader,
    /// Who can reach the service.
    pub exposure: Exposure,
    /// How bearer tokens are verified, when they are.
    pub tokens: Option<kit::auth::Settings>,
    /// Which subjects of tokens are services, and may publish events.
    pub roles: Roles,
    /// The challenge file; the embedded one when `None`.
    pub challenges: Option<PathBuf>,
    /// Makes random selections repeatable, for tests; `None`: no one can predict them.
    pub selection_seed: Option<u64>,
    /// Where each port listens.
    pub ports: Ports,
    /// Which database, and its options.
    pub store: StoreOptions,
    /// Players' writes that may wait for the store, and as many reads.
    pub store_queue: usize,
    /// The service that grants rewards; the ledger in the store when `None`.
    pub rewards: Option<RewardSettings>,
    /// How claims are carried out.
    pub claims: ClaimPolicy,
    /// When events are acknowledged.
    pub acknowledge: Acknowledge,
    /// Events that may be buffered and not written yet.
    pub event_buffer: usize,
    /// Players' requests that may be in flight.
    pub http_in_flight: usize,
    /// Requests in flight of each player.
    pub user_in_flight: usize,
    /// Longest time that a task which is ready may wait to run before connections are limited; zero limits none.
    pub wait_target: Duration,
    /// Concurrent connections on each port.
    pub connections: usize,
    /// Time to finish requests on SIGTERM.
    pub drain: Duration,
}

/// Addresses; port 0 means any free port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Players' HTTP.
    pub http: SocketAddr,
    /// Players' gRPC.
    pub grpc: SocketAddr,
    /// Publishers' gRPC.
    pub events: SocketAddr,
    /// Operators' HTTP.
    pub admin: SocketAddr,
}

impl Settings {
    /// Reads them all.
    ///
    /// # Errors
    /// When a variable cannot be used, or callers could not be identified.
    pub fn read(env: &Env, role: Role) -> Result<Self, SettingsError> {
        let env = &names::translated(env)?;
        let test_header =
            env.choice("TEST_IDENTITY_HEADER", &[("off", TestHeader::Off), ("on", TestHeader::On)])?;
        let namespace = env.text("AB_NAMESPACE").unwrap_or("accelbyte").to_owned();
        let tokens = kit::auth::Settings::read(env, &namespace)?;
        if test_header == TestHeader::Off && tokens.is_none() && role != Role::Events {
            return Err(SettingsError::NoIdentity);
        }
        let rewards = rewards::read(env)?;
        let http_in_flight = count(env, "HTTP_MAX_IN_FLIGHT", 512, 100_000)?;
        let acknowledge = [("durable", Acknowledge::Durable), ("buffered", Acknowledge::Buffered)];
        Ok(Self {
            exposure: exposure(env, test_header, tokens.as_ref())?,
            base_path: base_path(env)?,
            claims: rewards::claim_policy(env, &namespace, rewards.as_ref(), http_in_flight)?,
            namespace,
            test_header,
            tokens,
            roles: Roles::read(env),
            challenges: env.text("CHALLENGE_CONFIG_PATH").map(PathBuf::from),
            selection_seed: selection_seed(env)?,
            ports: ports(env)?,
            store: store::read(env, role)?,
            store_queue: count(env, "STORE_QUEUE", 1_024, 1_000_000)?,
            rewards,
            acknowledge: env.choice("EVENT_ACK", &acknowledge)?,
            event_buffer: count(env, "EVENT_BUFFER", 10_000, 1_000_000)?,
            http_in_flight,
            user_in_flight: count(env, "USER_MAX_IN_FLIGHT", (http_in_flight as u64 / 16).max(4), 100_000)?,
            wait_target: Duration::from_millis(env.within("WAIT_TARGET_MS", 10, 0..=10_000)?),
            connections: count(env, "MAX_CONNECTIONS", 8_192, 100_000)?,
            drain: Duration::from_secs(env.within("DRAIN_TIMEOUT_S", 10, 1..=3600)?),
        })
    }
}

/// A caller that may name any user in the test header is trusted, not verified.
fn exposure(
    env: &Env,
    test_header: TestHeader,
    tokens: Option<&kit::auth::Settings>,
) -> Result<Exposure, EnvError> {
    let is_verified = tokens.is_some() && test_header == TestHeader::Off;
    let Ports { http, grpc, events, admin } = ports(env)?;
    let callers = if is_verified { Callers::Verified } else { Callers::Trusted };
    Exposure::read(env, callers, &[http, grpc, events, admin])
}

fn count(env: &Env, name: &'static str, default: u64, max: u64) -> Result<usize, EnvError> {
    env.within(name, default, 1..=max).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

fn selection_seed(env: &Env) -> Result<Option<u64>, EnvError> {
    let is_set = env.text("SELECTION_SEED").is_some();
    Ok(is_set.then_some(env.within("SELECTION_SEED", 0, 0..=u64::MAX)?))
}

fn base_path(env: &Env) -> Result<String, EnvError> {
    let path = env.text("BASE_PATH").unwrap_or("/challenge");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    if !path.starts_with('/') || path.contains("//") || !path.chars().all(is_plain) {
        let expected = "a path that begins with / and is made of letters, digits and -_.~".to_owned();
        return Err(EnvError { name: "BASE_PATH", value: path.to_owned(), expected });
    }
    Ok(path.trim_end_matches('/').to_owned())
}

/// The admin port's address of a process with this environment.
///
/// # Errors
/// When a variable cannot be used.
pub fn admin_address(env: &Env) -> Result<SocketAddr, EnvError> {
    ports(env).map(|ports| ports.admin)
}

fn ports(env: &Env) -> Result<Ports, EnvError> {
    Ok(Ports {
        http: env.address("HTTP_PORT", 8000)?,
        grpc: env.address("GRPC_PORT", 6565)?,
        events: env.address("EVENTS_PORT", 6566)?,
        admin: env.address("ADMIN_PORT", 8080)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::store::Sync;

    fn refused(pairs: &[(&str, &str)]) -> String {
        let with_identity = [("TEST_IDENTITY_HEADER", "on")].into_iter().chain(pairs.iter().copied());
        Settings::read(&Env::from_pairs(with_identity), Role::All).unwrap_err().to_string()
    }

    #[test]
    fn without_an_identity_source_nothing_starts() {
        for env in [Env::from_pairs([]), Env::from_pairs([("TEST_IDENTITY_HEADER", "off")])] {
            assert!(matches!(Settings::read(&env, Role::All), Err(SettingsError::NoIdentity)));
        }
    }

    #[test]
    fn refusals_name_the_variable() {
        for (name, value) in [
            ("BASE_PATH", "challenge"),
            ("BASE_PATH", "/a/{b}"),
            ("HTTP_PORT", "-1"),
            ("EVENT_ACK", "maybe"),
            ("EVENT_BUFFER", "0"),
            ("BIND_ADDRESS", "localhost"),
            ("DATABASE_SYNC", "off"),
        ] {
            assert!(refused(&[(name, value)]).starts_with(name), "{name}={value}");
        }
    }

    #[test]
    fn several_processes_require_postgresql() {
        let env = Env::from_pairs([("TEST_IDENTITY_HEADER", "on")]);
        for role in [Role::Api, Role::Events] {
            assert!(matches!(Settings::read(&env, role), Err(SettingsError::Embedded)));
        }
        let env = Env::from_pairs([("DB_HOST", "127.0.0.1"), ("DB_USER", "me"), ("DB_PASSWORD", "secret")]);
        let settings = Settings::read(&env, Role::Events).unwrap();
        assert!(!format!("{settings:?}").contains("secret"));
        assert!(
            matches!(settings.store, StoreOptions::Postgres(options) if options.server.at() == "127.0.0.1:5432/challenge")
        );
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let settings = Settings::read(&Env::from_pairs([("TEST_IDENTITY_HEADER", "on")]), Role::All).unwrap();
        assert_eq!(settings.base_path, "/challenge");
        assert_eq!(settings.ports.http.to_string(), "127.0.0.1:8000");
        assert_eq!(settings.ports.events.to_string(), "127.0.0.1:6566");
        assert_eq!(settings.acknowledge, Acknowledge::Durable);
        assert!(matches!(settings.store, StoreOptions::Sqlite(options) if options.sync == Sync::Full));
    }

    /// Every variable that the sources read, found by its form in their text.
    #[test]
    fn every_variable_is_documented() {
        let documentation = include_str!("../../../docs/challenge.md");
        let sources = [
            include_str!("settings.rs"),
            include_str!("settings/names.rs"),
            include_str!("settings/rewards.rs"),
            include_str!("settings/store.rs"),
            include_str!("main.rs"),
            include_str!("../../kit/src/logs.rs"),
            include_str!("../../kit/src/profiling.rs"),
            include_str!("../../kit/src/auth/tokens/settings.rs"),
            include_str!("../../kit/src/auth/roles.rs"),
            include_str!("../../kit/src/postgres/options.rs"),
        ];
        // Variables of the compiler are not the service's.
        let is_name = |text: &&str| {
            !text.starts_with("CARGO_")
                && text.len() > 3
                && text.contains('_')
                && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        let names: Vec<&str> = sources.iter().flat_map(|source| source.split('"')).filter(is_name).collect();
        assert!(names.len() > 20);
        for name in names {
            assert!(documentation.contains(&format!("`{name}`")), "{name}");
        }
    }
}
