//! Variables that other challenge services read: those with our meaning are accepted beside ours, and of each other that
//! is set, a start says that it has no effect.

use kit::env::{Env, EnvError};

/// Their name, and ours for the same. When both are set, ours decides.
const SAME: [(&str, &str); 3] = [
    ("CONFIG_PATH", "CHALLENGE_CONFIG_PATH"),
    ("REFRESH_INTERVAL", "AUTH_REFRESH_S"),
    ("FLUSH_WORKERS", "DB_WRITERS"),
];

/// Their name, and why it has no effect.
const WITHOUT_EFFECT: [(&str, &str); 15] = [
    (
        "AB_BASE_URL",
        "tokens are verified with AUTH_JWKS_URL and AUTH_ISSUER, and rewards granted by REWARD_URL",
    ),
    ("AB_CLIENT_ID", "the reward service is called with REWARD_TOKEN"),
    ("AB_CLIENT_SECRET", "the reward service is called with REWARD_TOKEN"),
    (
        "BUFFER_FLUSH_INTERVAL",
        "events are written as soon as a connection is free; COMMIT_LINGER_MS delays that",
    ),
    ("BUFFER_SIZE_LIMIT", "EVENT_BUFFER limits the events that are not written yet"),
    ("DB_CONN_MAX_IDLE_TIME", "connections stay open"),
    ("DB_CONN_MAX_LIFETIME", "connections stay open, and are made again when they break"),
    ("DB_MAX_IDLE_CONNS", "connections stay open; DB_WRITERS and DB_READERS are their numbers"),
    ("MIGRATIONS_PATH", "the schema is part of the program"),
    ("OTEL_EXPORTER_ZIPKIN_ENDPOINT", "no traces are sent"),
    ("OTEL_SERVICE_NAME", "no traces are sent"),
    ("REDIS_DB", NO_REDIS),
    ("REDIS_HOST", NO_REDIS),
    ("REDIS_PASSWORD", NO_REDIS),
    ("REDIS_PORT", NO_REDIS),
];

const NO_REDIS: &str = "everything is in the database";

/// The beginning of names that no service reads.
const UNREAD: &str = "MOCK_AGS";

/// The environment in which their names have set ours.
pub(super) fn translated(env: &Env) -> Result<Env, EnvError> {
    let ours = env.clone().with_names_of_others(&SAME);
    let is_verified = env.choice("PLUGIN_GRPC_SERVER_AUTH_ENABLED", &[("true", true), ("false", false)])?;
    Ok(if is_verified { ours } else { ours.with_default("TEST_IDENTITY_HEADER", "on") })
}

/// A line for each variable that is set and has no effect.
#[must_use]
pub fn without_effect(env: &Env) -> Vec<String> {
    let mut lines = env.without_effect(&WITHOUT_EFFECT);
    let mut unread: Vec<&str> = env.names().filter(|name| name.starts_with(UNREAD)).collect();
    unread.sort_unstable();
    lines.extend(unread.iter().map(|name| format!("{name} is set and has no effect: nothing is mocked")));
    if env.text("DB_HOST").is_none() {
        let of_postgres =
            ["DB_MAX_OPEN_CONNS", "FLUSH_WORKERS"].into_iter().filter(|name| env.text(name).is_some());
        lines.extend(of_postgres.map(|name| format!("{name} is set and has no effect without DB_HOST")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn their_names_set_ours_and_ours_decide() {
        for (theirs, own) in SAME {
            let translate =
                |pairs: &[(&str, &str)]| translated(&Env::from_pairs(pairs.iter().copied())).unwrap();
            assert_eq!(translate(&[(theirs, "7")]).text(own), Some("7"));
            assert_eq!(translate(&[(theirs, "7"), (own, "8")]).text(own), Some("8"));
        }
    }

    #[test]
    fn without_verified_callers_the_test_header_names_them() {
        let header = |value| {
            let env = Env::from_pairs([("PLUGIN_GRPC_SERVER_AUTH_ENABLED", value)]);
            translated(&env).map(|env| env.text("TEST_IDENTITY_HEADER").map(str::to_owned))
        };
        assert_eq!(header("false"), Ok(Some("on".to_owned())));
        assert_eq!(header("true"), Ok(None));
        assert_eq!(header("no").unwrap_err().name, "PLUGIN_GRPC_SERVER_AUTH_ENABLED");
    }

    #[test]
    fn every_variable_without_effect_has_a_line() {
        let names = WITHOUT_EFFECT.map(|(name, _)| name);
        let set = names.into_iter().chain(["MOCK_AGS2", "MOCK_AGS", "DB_MAX_OPEN_CONNS", "DB_PORT"]);
        let env = Env::from_pairs(set.map(|name| (name, "1")));
        let lines = without_effect(&env);
        let named: Vec<&str> = lines.iter().map(|line| line.split(' ').next().unwrap()).collect();
        let expected: Vec<&str> =
            names.into_iter().chain(["MOCK_AGS", "MOCK_AGS2", "DB_MAX_OPEN_CONNS"]).collect();
        assert_eq!(named, expected);
        assert_eq!(
            without_effect(&Env::from_pairs([("BASE_PATH", "/x"), ("REFRESH_INTERVAL", "9")])),
            [""; 0]
        );
    }
}
