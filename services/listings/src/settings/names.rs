//! Variables that other listings services read: those with our meaning are accepted beside ours, and of each other that is
//! set, a start says that it has no effect. Like ours, theirs may have a prefix.

use kit::env::{Env, EnvError};

/// Their names for the parts of `REDIS_URL`.
const OF_REDIS: [&str; 4] = ["REDIS_HOST", "REDIS_PORT", "REDIS_PASSWORD", "REDIS_DB"];

/// Their name, and why it has no effect.
const WITHOUT_EFFECT: [(&str, &str); 15] = [
    ("AUTH_PUBLIC_KEY_PATH", "tokens are verified with the keys at AUTH_JWKS_URL"),
    ("AUTH_SERVICE_URL", "tokens are verified with the keys at AUTH_JWKS_URL"),
    ("DB_CONN_MAX_IDLE_TIME", "connections stay open"),
    ("DB_CONN_MAX_LIFETIME", "connections stay open, and are made again when they break"),
    ("DB_MAX_IDLE_CONNS", "connections stay open; DB_WRITERS and DB_READERS are their numbers"),
    ("JAEGER_ENDPOINT", "no traces are sent"),
    ("METRICS_HOST", "health and metrics are at ADMIN_PORT of BIND_ADDRESS"),
    ("METRICS_PORT", "health and metrics are at ADMIN_PORT"),
    ("MIGRATIONS_PATH", "the schema is part of the program"),
    ("OTEL_SERVICE_NAME", "no traces are sent"),
    ("RATE_LIMIT_BURST", "each rpc has a limit of calls in a minute: RATE_LIMIT_TABLE"),
    ("RATE_LIMIT_RPS", "each rpc has a limit of calls in a minute: RATE_LIMIT_TABLE"),
    ("REDIS_MIN_IDLE_CONNS", "one connection carries all commands"),
    ("REDIS_POOL_SIZE", "one connection carries all commands"),
    ("TRACING_ENABLED", "no traces are sent"),
];

/// The environment in which their names have set ours.
pub(super) fn translated(env: &Env) -> Result<Env, EnvError> {
    env.clone().with_redis_url()
}

/// A line for each variable that is set and has no effect.
#[must_use]
pub fn without_effect(env: &Env) -> Vec<String> {
    let mut lines = env.without_effect(&WITHOUT_EFFECT);
    if env.text("REDIS_URL").is_some() {
        lines.extend(env.without_effect(&OF_REDIS.map(|name| (name, "REDIS_URL is set, and decides"))));
    } else if env.text("REDIS_HOST").is_none() {
        lines.extend(env.without_effect(&OF_REDIS.map(|name| (name, "REDIS_HOST is not set"))));
    }
    if env.text("DB_HOST").is_none() {
        lines.extend(env.without_effect(&[("DB_MAX_OPEN_CONNS", "DB_HOST is not set")]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::PREFIXES;

    #[test]
    fn the_parts_of_a_redis_are_accepted_with_a_prefix() {
        let env = Env::from_pairs([("SVETULISTINGS_REDIS_HOST", "cache"), ("VONDILISTINGS_REDIS_DB", "3")]);
        let env = translated(&env.with_prefixes(&PREFIXES)).unwrap();
        assert_eq!(env.text("REDIS_URL"), Some("redis://cache:6379/3"));
    }

    #[test]
    fn every_variable_without_effect_has_a_line() {
        let lines = |pairs: &[(&str, &str)]| without_effect(&Env::from_pairs(pairs.iter().copied()));
        for (name, _) in WITHOUT_EFFECT {
            assert!(lines(&[(name, "1")])[0].starts_with(name));
        }
        let host = ("REDIS_HOST", "cache");
        assert_eq!(lines(&[host, ("REDIS_DB", "1")]), [""; 0]);
        assert!(lines(&[("REDIS_DB", "1")])[0].ends_with("REDIS_HOST is not set"));
        assert!(lines(&[host, ("REDIS_URL", "redis://c/")])[0].ends_with("and decides"));
        assert_eq!(lines(&[("DB_MAX_OPEN_CONNS", "25"), ("DB_HOST", "db")]), [""; 0]);
        assert!(lines(&[("DB_MAX_OPEN_CONNS", "25")])[0].ends_with("DB_HOST is not set"));
    }
}
