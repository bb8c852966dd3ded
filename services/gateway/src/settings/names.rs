//! Variables that other gateways read: those with our meaning are accepted beside ours, and of each other that is set, a
//! start says that it has no effect.

use kit::env::{Env, EnvError};

/// Their names for the parts of `REDIS_URL`.
const OF_REDIS: [&str; 4] = ["REDIS_HOST", "REDIS_PORT", "REDIS_PASSWORD", "REDIS_DB"];

/// Their name, and why it has no effect.
const WITHOUT_EFFECT: [(&str, &str); 3] = [
    ("GRPC_HOST", "the gateway has no gRPC port"),
    ("GRPC_PORT", "the gateway has no gRPC port"),
    (
        "SAMPLING_INTERVAL_MS",
        "devices send when they like; `gateway simulate --interval-ms` has devices that sample",
    ),
];

/// The environment in which their names have set ours.
pub(super) fn translated(env: &Env) -> Result<Env, EnvError> {
    env.clone().with_redis_url()
}

/// A line for each variable that is set and has no effect.
#[must_use]
pub fn without_effect(env: &Env) -> Vec<String> {
    let mut lines = env.without_effect(&WITHOUT_EFFECT);
    let why = match (env.text("SINK"), env.text("REDIS_URL"), env.text("REDIS_HOST")) {
        (Some("redis"), Some(_), _) => "REDIS_URL is set, and decides",
        (Some("redis"), None, Some(_)) => return lines,
        (Some("redis"), None, None) => "REDIS_HOST is not set",
        _ => "samples go to Redis with SINK=redis only",
    };
    lines.extend(env.without_effect(&OF_REDIS.map(|name| (name, why))));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_redis_make_its_url() {
        let env = translated(&Env::from_pairs([("REDIS_HOST", "cache")])).unwrap();
        assert_eq!(env.text("REDIS_URL"), Some("redis://cache:6379/0"));
    }

    #[test]
    fn every_variable_without_effect_has_a_line() {
        let lines = |pairs: &[(&str, &str)]| without_effect(&Env::from_pairs(pairs.iter().copied()));
        assert_eq!(lines(&[("SAMPLING_INTERVAL_MS", "100"), ("GRPC_PORT", "1")]).len(), 2);
        let host = ("REDIS_HOST", "cache");
        assert!(lines(&[host])[0].ends_with("with SINK=redis only"));
        assert_eq!(lines(&[host, ("REDIS_DB", "1"), ("SINK", "redis")]), [""; 0]);
        assert!(lines(&[("REDIS_DB", "1"), ("SINK", "redis")])[0].ends_with("REDIS_HOST is not set"));
        assert!(lines(&[host, ("REDIS_URL", "redis://c/"), ("SINK", "redis")])[0].ends_with("and decides"));
    }
}
