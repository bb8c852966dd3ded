//! Watches a Redis server: hits, memory, clients, commands, slow log.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use ::redis::{Client, Connection, ConnectionLike as _, RedisResult, cmd};
use evidence::{NoticeKind, SeriesKey};

use crate::observer::Observer;
use crate::remote::{Query, QueryResult, Remote};

/// How long connecting and each answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Watches the server at `url` as part of the target named `target`, once in `every`.
///
/// # Errors
/// When the system gives no thread.
pub fn redis(target: &str, url: &str, every: Duration) -> io::Result<Box<dyn Observer>> {
    let query = RedisQuery { target: target.to_owned(), url: url.to_owned(), connection: None, base: None };
    Ok(Box::new(Remote::start(&format!("{target} redis"), every, query)?))
}

struct RedisQuery {
    target: String,
    /// May hold a password: never shown.
    url: String,
    connection: Option<Connection>,
    base: Option<Base>,
}

/// The counters of the last query, and the server that they belong to.
struct Base {
    at: Instant,
    run_id: String,
    counters: Vec<f64>,
    newest_slow: i64,
}

/// Levels: the field of `INFO`, our name, its unit.
const LEVELS: [(&str, &str, &str); 5] = [
    ("used_memory", "redis_memory", "bytes"),
    ("maxmemory", "redis_memory_limit", "bytes"),
    ("connected_clients", "redis_clients", "1"),
    ("maxclients", "redis_clients_limit", "1"),
    ("blocked_clients", "redis_blocked_clients", "1"),
];
/// Counters, as rates a second.
const RATES: [(&str, &str); 6] = [
    ("total_commands_processed", "redis_commands"),
    ("evicted_keys", "redis_evicted"),
    ("expired_keys", "redis_expired"),
    ("rejected_connections", "redis_rejected"),
    ("keyspace_hits", "redis_hits"),
    ("keyspace_misses", "redis_misses"),
];
const HITS: usize = 4;
const MISSES: usize = 5;

impl Query for RedisQuery {
    fn query(&mut self) -> Result<QueryResult, String> {
        let result = self.read();
        if result.is_err() {
            self.connection = None;
        }
        result.map_err(|error| match error.is_timeout() {
            true => format!("Redis did not answer within {} s", PATIENCE.as_secs()),
            false => format!("Redis cannot be queried: {error}"),
        })
    }
}

impl RedisQuery {
    fn read(&mut self) -> RedisResult<QueryResult> {
        let connection = match &mut self.connection {
            Some(connection) if connection.is_open() => connection,
            closed => closed.insert(connect(&self.url)?),
        };
        let text: String = cmd("INFO").query(connection)?;
        let newest_slow = newest_slow(connection);
        let info = fields(&text);
        let mut result = QueryResult { values: self.levels(&info), remarks: Vec::new() };
        if newest_slow.is_none() {
            let text = "no right to read the slow log: its rate is missing".to_owned();
            result.remarks.push((NoticeKind::Unreadable, text));
        }
        let now = Base {
            at: Instant::now(),
            run_id: info.get("run_id").map(|id| (*id).to_owned()).unwrap_or_default(),
            counters: RATES.iter().map(|(field, _)| number(&info, field).unwrap_or(f64::NAN)).collect(),
            newest_slow: newest_slow.unwrap_or(-1),
        };
        match self.base.replace(now) {
            Some(base) if self.is_same_server(&base) => result.values.extend(self.rates(&base)),
            Some(_) => result.remarks.push((NoticeKind::Restarted, self.restarted())),
            None => {}
        }
        Ok(result)
    }

    fn is_same_server(&self, base: &Base) -> bool {
        self.base.as_ref().is_some_and(|now| now.run_id == base.run_id)
    }

    fn restarted(&self) -> String {
        let id = self.base.as_ref().map(|now| now.run_id.get(..8).unwrap_or_default()).unwrap_or_default();
        format!("Redis was restarted (its run id is {id} now): its counters were reset")
    }

    fn levels(&self, info: &HashMap<&str, &str>) -> Vec<(SeriesKey, f64)> {
        let levels = LEVELS.iter().filter_map(|(field, name, unit)| {
            // A limit of 0 means that there is none.
            let value = number(info, field).filter(|value| *value > 0.0 || !name.ends_with("_limit"))?;
            Some((SeriesKey::new(name, &self.target, unit), value))
        });
        levels.collect()
    }

    fn rates(&self, base: &Base) -> Vec<(SeriesKey, f64)> {
        let Some(now) = &self.base else { return Vec::new() };
        let seconds = now.at.duration_since(base.at).as_secs_f64();
        let grown: Vec<f64> =
            now.counters.iter().zip(&base.counters).map(|(now, before)| now - before).collect();
        let key = |name: &str, unit: &str| SeriesKey::new(name, &self.target, unit);
        let mut values: Vec<_> = (RATES.iter().zip(&grown))
            .filter(|(_, grown)| grown.is_finite() && **grown >= 0.0)
            .map(|((_, name), grown)| (key(name, "1/s"), grown / seconds))
            .collect();
        let lookups = grown[HITS] + grown[MISSES];
        if lookups > 0.0 {
            values.push((key("redis_hit_ratio", "1"), grown[HITS] / lookups));
        }
        if now.newest_slow >= base.newest_slow && base.newest_slow >= 0 {
            values.push((key("redis_slow", "1/s"), (now.newest_slow - base.newest_slow) as f64 / seconds));
        }
        values
    }
}

fn connect(url: &str) -> RedisResult<Connection> {
    let connection = Client::open(url)?.get_connection_with_timeout(PATIENCE)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    Ok(connection)
}

/// One past the number of the newest entry of the slow log; 0 when it never had one, none when it may not be read.
fn newest_slow(connection: &mut Connection) -> Option<i64> {
    let entries: Vec<Vec<::redis::Value>> = cmd("SLOWLOG").arg("GET").arg(1).query(connection).ok()?;
    match entries.first().and_then(|entry| entry.first()) {
        Some(::redis::Value::Int(id)) => Some(id + 1),
        Some(_) => None,
        None => Some(0),
    }
}

/// The `name:value` lines of `INFO`.
fn fields(text: &str) -> HashMap<&str, &str> {
    text.lines().filter_map(|line| line.trim_end().split_once(':')).collect()
}

fn number(info: &HashMap<&str, &str>, field: &str) -> Option<f64> {
    info.get(field)?.parse().ok().filter(|value: &f64| value.is_finite())
}
