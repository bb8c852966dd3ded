//! Watches a Redis server: hits, memory, clients, commands, slow log.

mod connection;
mod counters;
mod info;
mod slow_log;

use std::io;
use std::time::{Duration, Instant};

use ::redis::{ConnectionLike as _, RedisResult, cmd};
use evidence::{NoticeKind, SeriesKey};

use crate::observer::Observer;
use crate::remote::{Query, QueryResult, Remote};
use connection::BoundedConnection;
use counters::{Anew, Counters, RATES, hit_ratio};
use info::Info;
use slow_log::SlowLog;

/// How long connecting and each answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Watches the server at `url` as part of the target named `target`, once in `every`.
///
/// # Errors
/// When the system gives no thread.
pub fn redis(target: &str, url: &str, every: Duration) -> io::Result<Box<dyn Observer>> {
    let (target_name, url) = (target.to_owned(), url.to_owned());
    let query = RedisQuery { target: target_name, url, connection: None, base: None, resets: 0 };
    Ok(Box::new(Remote::start(&format!("{target} redis"), every, query)?))
}

struct RedisQuery {
    target: String,
    /// May hold a password: never shown.
    url: String,
    connection: Option<BoundedConnection>,
    base: Option<Base>,
    resets: usize,
}

/// The last reading.
struct Base {
    at: Instant,
    counters: Counters,
    slow_log: SlowLog,
}

/// Levels: the field of `INFO`, our name, its unit.
const LEVELS: [(&str, &str, &str); 5] = [
    ("used_memory", "redis_memory", "bytes"),
    ("maxmemory", "redis_memory_limit", "bytes"),
    ("connected_clients", "redis_clients", "1"),
    ("maxclients", "redis_clients_limit", "1"),
    ("blocked_clients", "redis_blocked_clients", "1"),
];
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
            closed => closed.insert(BoundedConnection::open(&self.url, PATIENCE)?),
        };
        // With what it counts of commands, which shows resets.
        let text: String = cmd("INFO").arg("ALL").query(connection)?;
        let info = Info::read(&text);
        let slow_log = SlowLog::read(connection, &info, self.base.as_ref().map(|base| &base.slow_log));
        let mut result = QueryResult { values: self.levels(&info), remarks: Vec::new() };
        if !slow_log.is_readable() {
            let text = "no right to read the slow log: its rate is missing".to_owned();
            result.remarks.push((NoticeKind::Unreadable, text));
        }
        let now = Base { at: Instant::now(), counters: Counters::read(&info), slow_log };
        if let Some(base) = &self.base {
            match now.counters.since(&base.counters) {
                Ok(grown) => {
                    result.values.extend(self.rates(&grown, seconds(base, &now)));
                    result.values.extend(self.slow(base, &now));
                }
                Err(Anew::Restarted) => {
                    let id = now.counters.short_id();
                    let text =
                        format!("Redis was restarted (its run id is {id} now): its counters were reset");
                    result.remarks.push((NoticeKind::Restarted, text));
                }
                Err(Anew::Reset) => {
                    self.resets += 1;
                    // Numbered, so that each is reported.
                    let text =
                        format!("reset {}: its counters began anew; their rates have a gap", self.resets);
                    result.remarks.push((NoticeKind::Restarted, text));
                }
            }
        }
        self.base = Some(now);
        Ok(result)
    }

    fn key(&self, name: &str, unit: &str) -> SeriesKey {
        SeriesKey::new(name, &self.target, unit)
    }

    fn levels(&self, info: &Info<'_>) -> Vec<(SeriesKey, f64)> {
        let levels = LEVELS.iter().filter_map(|(field, name, unit)| {
            // A limit of 0 means that there is none.
            let value = info.number(field).filter(|value| *value > 0.0 || !name.ends_with("_limit"))?;
            Some((self.key(name, unit), value))
        });
        levels.collect()
    }

    fn rates(&self, grown: &[Option<f64>; RATES.len()], seconds: f64) -> Vec<(SeriesKey, f64)> {
        let rates = RATES.iter().zip(grown);
        let rates = rates.filter_map(|((_, name), grown)| Some((self.key(name, "1/s"), (*grown)? / seconds)));
        let ratio = hit_ratio(grown).map(|ratio| (self.key("redis_hit_ratio", "1"), ratio));
        rates.chain(ratio).collect()
    }

    fn slow(&self, base: &Base, now: &Base) -> Option<(SeriesKey, f64)> {
        let added = now.slow_log.added_since(&base.slow_log)?;
        Some((self.key("redis_slow", "1/s"), added as f64 / seconds(base, now)))
    }
}

fn seconds(base: &Base, now: &Base) -> f64 {
    now.at.duration_since(base.at).as_secs_f64()
}
