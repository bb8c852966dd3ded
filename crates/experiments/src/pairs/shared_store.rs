//! Which databases, caches and queues two arms have in common, as far as their settings show it.

use std::collections::{BTreeMap, BTreeSet};

use workload::Workload;
use workload::experiment::Arm;

/// Schemes of addresses of stores.
const SCHEMES: [&str; 19] = [
    "amqp",
    "amqps",
    "cassandra",
    "clickhouse",
    "jdbc",
    "kafka",
    "mariadb",
    "memcached",
    "mongodb",
    "mongodb+srv",
    "mysql",
    "nats",
    "postgres",
    "postgresql",
    "redis",
    "rediss",
    "sqlite",
    "sqlserver",
    "valkey",
];
/// Words in the names of settings that say where a store is.
const WORDS: [&str; 25] = [
    "AMQP",
    "BROKER",
    "CACHE",
    "CLICKHOUSE",
    "DATA",
    "DATABASE",
    "DB",
    "DSN",
    "JOURNAL",
    "KAFKA",
    "MARIADB",
    "MEMCACHED",
    "MONGO",
    "MONGODB",
    "MYSQL",
    "NATS",
    "PG",
    "PGHOST",
    "POSTGRES",
    "POSTGRESQL",
    "RABBITMQ",
    "REDIS",
    "SQLITE",
    "STORE",
    "VALKEY",
];
/// Values that name no place.
const NO_PLACE: [&str; 11] =
    ["", "true", "false", "on", "off", "yes", "no", "none", "memory", ":memory:", ":temporary:"];

/// What both arms use, by the names of their settings; `inherited` are the variables that both get from this process.
pub(super) fn shared_by<'e>(
    arms: [&Arm; 2],
    workload: &Workload,
    inherited: impl Iterator<Item = (String, String)> + 'e,
) -> Vec<String> {
    let inherited: BTreeMap<String, String> =
        inherited.filter(|(_, value)| is_store_address(value)).collect();
    let [a, b] = arms.map(|arm| places(arm, &inherited));
    let mut shared: BTreeSet<String> =
        a.iter().filter(|(place, _)| b.contains_key(*place)).map(|(_, name)| name.clone()).collect();
    for (name, target) in &workload.targets {
        let observe = &target.observe;
        let kinds = [("postgres", observe.postgres.is_some()), ("redis", observe.redis.is_some())];
        let observed = kinds.into_iter().filter(|(_, is_there)| *is_there);
        shared.extend(observed.map(|(kind, _)| format!("observe.{kind} of target `{name}`")));
    }
    shared.into_iter().collect()
}

/// Where an arm keeps its data, with the names of the settings that say so.
fn places(arm: &Arm, inherited: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut env = inherited.clone();
    env.extend(arm.env.clone());
    let words: Vec<&str> = arm.start.iter().flat_map(|start| start.split_whitespace()).collect();
    let followed = words.windows(2).filter(|two| two[0].starts_with('-') && !two[1].starts_with('-'));
    let of_commands = words
        .iter()
        .filter_map(|word| word.split_once('='))
        .chain(followed.map(|two| (two[0], two[1])))
        .chain(words.iter().map(|word| ("start", *word)))
        .map(|(name, value)| (name.trim_start_matches('-'), value.trim_matches(['"', '\''])));
    let of_env = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let settings = of_env.chain(of_commands);
    settings.filter_map(|(name, value)| Some((place(name, value)?, name.to_owned()))).collect()
}

/// The place of a store that a setting names; none where it names none.
fn place(name: &str, value: &str) -> Option<String> {
    if is_store_address(value) {
        return Some(server(value));
    }
    let is_named = || {
        let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
        words.any(|word| WORDS.contains(&word.to_ascii_uppercase().as_str()))
    };
    let is_place = !NO_PLACE.contains(&value.to_ascii_lowercase().as_str()) && value.parse::<f64>().is_err();
    (is_place && is_named()).then(|| server(value))
}

fn is_store_address(value: &str) -> bool {
    value.split_once(':').is_some_and(|(scheme, _)| SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()))
}

/// The server of an address: databases of one server share it. The whole value where it is not an address.
fn server(value: &str) -> String {
    let Some((_, rest)) = value.split_once("://") else { return value.to_owned() };
    let authority = rest.split(['/', '?']).next().unwrap_or(rest);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.is_empty() { value.to_owned() } else { host.replace("localhost", "127.0.0.1") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(start: &str, env: &[(&str, &str)]) -> Arm {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Arm { start: Some(start.to_owned()), env, ..Arm::default() }
    }

    fn shared(a: &Arm, b: &Arm, inherited: &[(&str, &str)]) -> Vec<String> {
        let inherited = inherited.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        shared_by([a, b], &Workload::named("w"), inherited)
    }

    #[test]
    fn databases_of_one_server_are_shared_and_those_of_two_are_not() {
        let at = |url| arm("./service", &[("DATABASE_URL", url)]);
        let one = at("postgres://me:secret@127.0.0.1:5432/one");
        assert_eq!(shared(&one, &at("postgres://127.0.0.1:5432/two"), &[]), ["DATABASE_URL"]);
        assert_eq!(shared(&one, &at("postgresql://localhost:5432/one"), &[]), ["DATABASE_URL"]);
        assert!(shared(&one, &at("postgres://127.0.0.1:5433/one"), &[]).is_empty());
    }

    #[test]
    fn commands_and_inherited_variables_name_stores_too() {
        let [a, b] =
            ["./old --db-path data.db --port 1", "./new --db-path data.db --port 2"].map(|s| arm(s, &[]));
        assert_eq!(shared(&a, &b, &[]), ["db-path"]);
        let [a, b] = ["CACHE=redis://h:1/0 ./s", "./s redis://h:1"].map(|start| arm(start, &[]));
        assert_eq!(shared(&a, &b, &[]), ["CACHE"]);
        let [a, b] = [arm("./s", &[]), arm("./s", &[])];
        let inherited = [("REDIS_URL", "redis://h:1"), ("XDG_CACHE_HOME", "/var/cache")];
        assert_eq!(shared(&a, &b, &inherited), ["REDIS_URL"]);
        let own = [("REDIS_URL", "redis://h:2")];
        assert!(shared(&a, &arm("./s", &own), &inherited).is_empty());
    }

    #[test]
    fn sizes_and_switches_are_no_places() {
        let [a, b] = ["./s --cache on", "./s --cache on"]
            .map(|s| arm(s, &[("DB_POOL", "5"), ("DATABASE_PATH", ":temporary:")]));
        assert!(shared(&a, &b, &[]).is_empty());
    }
}
