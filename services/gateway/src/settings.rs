//! The settings of one process, read from the environment. The table in `docs/gateway.md` lists every variable.

mod names;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::StatusCode;
use kit::auth::{self, Roles};
use kit::env::{Env, EnvError};
use kit::exposure::{Callers, Exposure};

use crate::intake::Limits;
use crate::journal::JournalOptions;
use crate::sample;
use crate::sink::{ListOptions, SinkOptions};
pub use names::without_effect;

/// What an acknowledgement promises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DurabilityOptions {
    /// The samples are queued in memory.
    Memory,
    /// The samples are on disk.
    Disk(JournalOptions),
    /// The samples are handed on, within this time.
    HandedOn(Duration),
}

#[derive(Debug, Clone)]
pub struct Settings {
    /// Where each port listens.
    pub ports: Ports,
    /// Who can reach the gateway.
    pub exposure: Exposure,
    /// How bearer tokens are verified; `None` when every caller is trusted.
    pub tokens: Option<auth::Settings>,
    /// The subjects of tokens that are not devices.
    pub roles: Roles,
    /// Bounds on bodies and values.
    pub limits: Limits,
    /// Capacity of the queue: samples accepted and not handed on.
    pub queue_size: usize,
    pub workers: usize,
    /// What an acknowledgement promises.
    pub durability: DurabilityOptions,
    /// The status of an acknowledgement.
    pub accepted_status: StatusCode,
    /// Where samples go.
    pub sink: SinkOptions,
    /// Bounds on request bodies.
    pub bodies: BodyOptions,
    /// Requests with samples of one device in flight at once.
    pub device_in_flight: usize,
    pub devices: DeviceOptions,
    /// Bounds on connections.
    pub connections: ConnectionOptions,
    /// How long a runnable task may wait before connections are limited; zero limits none.
    pub wait_target: Duration,
    /// Time to finish on SIGTERM.
    pub drain: Duration,
}

/// Bounds on request bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyOptions {
    pub max_bytes: usize,
    /// Bytes of all bodies that are in memory at once.
    pub max_total_bytes: usize,
    /// From a request's head to its body's end.
    pub timeout: Duration,
}

/// What is recorded of devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceOptions {
    /// The number of devices recorded.
    pub max_devices: usize,
    /// The device of a request that names none.
    pub default_device: String,
    /// Samples after which a measuring device is in `SafeState`; 0 means never.
    pub fault_after: u64,
}

/// Bounds on connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// Connections open at once.
    pub max_connections: usize,
    /// Time to send a request's head.
    pub head_timeout: Duration,
}

/// Addresses; port 0 asks for any free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// Devices' HTTP.
    pub http: SocketAddr,
    /// Operators' HTTP.
    pub admin: SocketAddr,
}

impl Settings {
    /// Reads all settings.
    ///
    /// # Errors
    /// When a variable cannot be used.
    pub fn read(env: &Env) -> Result<Self, EnvError> {
        let env = &names::translated(env)?;
        let batch = count(env, "MAX_BATCH", 1_000, 1..=10_000)?;
        let body_bytes = count(env, "MAX_BODY_BYTES", 1 << 20, 1_024..=64 << 20)?;
        let bodies_bytes = count(env, "BODIES_BYTES", 64 << 20, body_bytes as u64..=4 << 30)?;
        // The bodies of one device take a quarter of the memory at most. Two requests are always allowed: a device that
        // has lost its connection sends again while the gateway still waits for the rest of the first.
        let in_a_quarter = (bodies_bytes / 4 / body_bytes).clamp(2, 16) as u64;
        let durability = durability(env)?;
        let ports = ports(env)?;
        let tokens = auth::Settings::read(env, env.text("AUTH_NAMESPACE").unwrap_or("telemetry"))?;
        let callers = if tokens.is_some() { Callers::Verified } else { Callers::Trusted };
        Ok(Self {
            exposure: Exposure::read(env, callers, &[ports.http, ports.admin])?,
            ports,
            tokens,
            roles: Roles::read(env),
            limits: Limits { batch, value: value_limit(env)? },
            queue_size: count(
                env,
                "QUEUE_SIZE",
                50_000,
                min_queue_size(&durability, batch as u64)..=10_000_000,
            )?,
            workers: count(env, "WORKERS", 8, 1..=1_024)?,
            durability,
            accepted_status: env
                .choice("ACCEPTED_STATUS", &[("202", StatusCode::ACCEPTED), ("200", StatusCode::OK)])?,
            sink: sink(env)?,
            bodies: BodyOptions {
                max_bytes: body_bytes,
                max_total_bytes: bodies_bytes,
                timeout: Duration::from_millis(env.within("BODY_TIMEOUT_MS", 10_000, 1..=3_600_000)?),
            },
            device_in_flight: count(env, "DEVICE_MAX_IN_FLIGHT", in_a_quarter, 1..=100_000)?,
            devices: DeviceOptions {
                max_devices: count(env, "MAX_DEVICES", 10_000, 1..=10_000_000)?,
                default_device: default_device(env)?,
                fault_after: env.within("FAULT_AFTER_SAMPLES", 0, 0..=u64::MAX)?,
            },
            connections: ConnectionOptions {
                max_connections: count(env, "MAX_CONNECTIONS", 16_384, 1..=1_000_000)?,
                head_timeout: Duration::from_millis(env.within("HEAD_TIMEOUT_MS", 30_000, 1..=3_600_000)?),
            },
            wait_target: Duration::from_millis(env.within("WAIT_TARGET_MS", 10, 0..=10_000)?),
            drain: Duration::from_secs(env.within("DRAIN_TIMEOUT_S", 10, 1..=3600)?),
        })
    }

    /// How acknowledged samples are lost with these settings.
    pub fn losses(&self) -> impl Iterator<Item = &'static str> {
        let in_memory =
            "DURABILITY=memory: samples that are acknowledged and queued are lost with the process";
        let discarded = "SINK=none: samples are discarded instead of handed on";
        let memory = (self.durability == DurabilityOptions::Memory).then_some(in_memory);
        memory.into_iter().chain((self.sink == SinkOptions::None).then_some(discarded))
    }
}

fn count(
    env: &Env,
    name: &'static str,
    default: u64,
    range: std::ops::RangeInclusive<u64>,
) -> Result<usize, EnvError> {
    env.within(name, default.max(*range.start()), range)
        .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// A full batch of the lowest priority must fit into an empty queue: where a part of the slots is reserved for higher
/// priorities, into the others.
fn min_queue_size(durability: &DurabilityOptions, batch: u64) -> u64 {
    match durability {
        DurabilityOptions::Memory => batch,
        DurabilityOptions::Disk(_) | DurabilityOptions::HandedOn(_) => batch + batch.div_ceil(4),
    }
}

fn refused(name: &'static str, value: &str, expected: &str) -> EnvError {
    EnvError { name, value: value.to_owned(), expected: expected.to_owned() }
}

fn value_limit(env: &Env) -> Result<f64, EnvError> {
    let limit: f64 = env.parsed("VALUE_LIMIT", 1e9)?;
    if limit.is_finite() && limit > 0.0 {
        return Ok(limit);
    }
    Err(refused("VALUE_LIMIT", &limit.to_string(), "a number above 0"))
}

fn default_device(env: &Env) -> Result<String, EnvError> {
    let id = env.text("DEFAULT_DEVICE").unwrap_or("default");
    match sample::name("DEFAULT_DEVICE", id.into()) {
        Ok(id) => Ok(id.into_owned()),
        Err(why) => Err(refused("DEFAULT_DEVICE", id, &why.reason)),
    }
}

fn durability(env: &Env) -> Result<DurabilityOptions, EnvError> {
    match env.choice("DURABILITY", &[("memory", 0), ("disk", 1), ("handed-on", 2)])? {
        0 => Ok(DurabilityOptions::Memory),
        1 => {
            let segment_bytes = env.within("JOURNAL_SEGMENT_BYTES", 4 << 20, 4_096..=1 << 30)?;
            // The current file and the next one.
            let least = segment_bytes * 2;
            let max_bytes = env.within("JOURNAL_MAX_BYTES", least.max(256 << 20), least..=1 << 40)?;
            let folder = PathBuf::from(env.text("JOURNAL_DIR").unwrap_or("gateway-journal"));
            Ok(DurabilityOptions::Disk(JournalOptions { folder, segment_bytes, max_bytes }))
        }
        _ => {
            let within = env.within("HANDED_ON_WITHIN_MS", 5_000, 1..=3_600_000)?;
            Ok(DurabilityOptions::HandedOn(Duration::from_millis(within)))
        }
    }
}

fn sink(env: &Env) -> Result<SinkOptions, EnvError> {
    let required =
        |name: &'static str, expected: &str| env.text(name).ok_or_else(|| refused(name, "", expected));
    Ok(match env.choice("SINK", &[("none", 0), ("file", 1), ("redis", 2)])? {
        0 => SinkOptions::None,
        1 => SinkOptions::File(required("SINK_FILE", "a path, with SINK=file")?.into()),
        _ => SinkOptions::Redis(ListOptions {
            url: required("REDIS_URL", "redis://HOST:PORT, with SINK=redis")?.to_owned(),
            key: env.text("REDIS_KEY").unwrap_or("telemetry:tasks").to_owned(),
            timeout: Duration::from_millis(env.within("SINK_TIMEOUT_MS", 2_000, 1..=600_000)?),
        }),
    })
}

/// The address of the admin port of a process with this environment.
///
/// # Errors
/// When a variable cannot be used.
pub fn admin_address(env: &Env) -> Result<SocketAddr, EnvError> {
    ports(env).map(|ports| ports.admin)
}

fn ports(env: &Env) -> Result<Ports, EnvError> {
    Ok(Ports { http: env.address("HTTP_PORT", 8080)?, admin: env.address("ADMIN_PORT", 8081)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue;
    use crate::sample::Priority;

    #[test]
    fn refusals_name_the_variable() {
        for (name, value, more) in [
            ("HTTP_PORT", "-1", ("", "")),
            ("BIND_ADDRESS", "localhost", ("", "")),
            ("DURABILITY", "paper", ("", "")),
            ("ACCEPTED_STATUS", "204", ("", "")),
            ("SINK", "kafka", ("", "")),
            ("SINK_FILE", "", ("SINK", "file")),
            ("REDIS_URL", "", ("SINK", "redis")),
            ("VALUE_LIMIT", "NaN", ("", "")),
            ("VALUE_LIMIT", "-1", ("", "")),
            ("DEFAULT_DEVICE", "a b", ("", "")),
            ("QUEUE_SIZE", "99", ("MAX_BATCH", "100")),
            ("QUEUE_SIZE", "1249", ("DURABILITY", "disk")),
            ("BODIES_BYTES", "2000", ("MAX_BODY_BYTES", "4000")),
            ("JOURNAL_MAX_BYTES", "8191", ("DURABILITY", "disk")),
        ] {
            let message = Settings::read(&Env::from_pairs([(name, value), more])).unwrap_err().to_string();
            assert!(message.starts_with(name), "{name}={value}: {message}");
        }
    }

    #[test]
    fn callers_of_other_machines_are_trusted_only_with_auth_off() {
        let read = |auth| Settings::read(&Env::from_pairs([("BIND_ADDRESS", "0.0.0.0"), ("AUTH", auth)]));
        assert!(read("").unwrap_err().to_string().contains("0.0.0.0:8080"));
        assert_eq!(read("off").unwrap().exposure, Exposure::Anyone);
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let least =
            Settings::read(&Env::from_pairs([("QUEUE_SIZE", "1250"), ("DURABILITY", "handed-on")])).unwrap();
        assert!(queue::usable_capacity(Priority::Low, least.queue_size as u64) >= least.limits.batch as u64);
        let settings = Settings::read(&Env::from_pairs([])).unwrap();
        assert_eq!(settings.ports.http.to_string(), "127.0.0.1:8080");
        assert_eq!(settings.ports.admin.to_string(), "127.0.0.1:8081");
        assert_eq!((settings.workers, settings.queue_size), (8, 50_000));
        assert_eq!((settings.durability, settings.sink), (DurabilityOptions::Memory, SinkOptions::None));
        assert_eq!(settings.device_in_flight, 16);
        let url = "redis://:secret@127.0.0.1:6379/0";
        let settings = Settings::read(&Env::from_pairs([("SINK", "redis"), ("REDIS_URL", url)])).unwrap();
        assert!(!format!("{settings:?}").contains("secret"));
        assert!(matches!(settings.sink, SinkOptions::Redis(list) if list.key == "telemetry:tasks"));
    }

    /// Every variable that this file, the command or the logs read, found in their sources by its form.
    #[test]
    fn every_variable_is_documented() {
        let documentation = include_str!("../../../docs/gateway.md");
        let sources = [
            include_str!("settings.rs"),
            include_str!("settings/names.rs"),
            include_str!("main.rs"),
            include_str!("../../kit/src/profiling.rs"),
            include_str!("../../kit/src/auth/roles.rs"),
            include_str!("../../kit/src/auth/tokens/settings.rs"),
            include_str!("../../kit/src/logs.rs"),
        ];
        let is_name = |text: &&str| {
            (text.contains('_') || ["SINK", "DURABILITY", "WORKERS"].contains(text))
                && text.len() > 3
                && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        };
        let names: Vec<&str> = sources.iter().flat_map(|source| source.split('"')).filter(is_name).collect();
        assert!(names.len() > 25);
        for name in names {
            assert!(documentation.contains(&format!("`{name}`")), "{name}");
        }
    }
}
