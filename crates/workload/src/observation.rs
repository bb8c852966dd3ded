//! What is observed of a target from outside, and when it is profiled.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::ProfileKind;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::template::{Part, Template, Value};

/// What is observed of a target besides its process. URLs may contain `${env.NAME}`, which is stored as such.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// The control group, or the container, of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<CgroupRef>,
    /// Its metrics endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<Prometheus>,
    /// A PostgreSQL server: a dependency of the target, or the target itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<Postgres>,
    /// A Redis server: a dependency of the target, or the target itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redis: Option<Redis>,
    /// The base URL of profiles in the manner of Go's `net/http/pprof`: the part before `/heap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pprof: Option<String>,
    /// Pools that its metrics show under names that are not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
}

/// A pool by the metrics of its target that show it. Series of one name are added up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Pool {
    /// As a report names it.
    pub name: String,
    /// How much of it is in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_use: Option<String>,
    /// The seconds for which it was held, added up, as a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Its size.
    pub size: PoolSize,
    /// The seconds for which it was waited for, added up, as a counter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waited: Option<String>,
    /// How many wait for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
}

/// How many may hold a pool at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolSize {
    Metric(String),
    Of(u32),
}

impl Default for PoolSize {
    fn default() -> PoolSize {
        PoolSize::Of(1)
    }
}

impl Pool {
    /// The names of its metrics.
    pub fn metrics(&self) -> impl Iterator<Item = &String> {
        let size = match &self.size {
            PoolSize::Metric(name) => Some(name),
            PoolSize::Of(_) => None,
        };
        [&self.in_use, &self.held, &self.waited, &self.waiting].into_iter().flatten().chain(size)
    }
}

impl Observation {
    /// Whether nothing is observed.
    pub fn is_empty(&self) -> bool {
        *self == Observation::default()
    }

    /// The addresses of its observers.
    pub fn urls(&self) -> impl Iterator<Item = &String> {
        let Observation { prometheus, postgres, redis, pprof, cgroup: _, pools: _ } = self;
        let page = prometheus.iter().map(|page| &page.url);
        let database = postgres.iter().map(|server| &server.url);
        page.chain(database).chain(redis.iter().map(|server| &server.url)).chain(pprof)
    }

    /// The same, to be changed.
    pub fn urls_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let Observation { prometheus, postgres, redis, pprof, cgroup: _, pools: _ } = self;
        let page = prometheus.iter_mut().map(|page| &mut page.url);
        let database = postgres.iter_mut().map(|server| &mut server.url);
        page.chain(database).chain(redis.iter_mut().map(|server| &mut server.url)).chain(pprof)
    }
}

/// A control group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupRef {
    /// Its folder in the hierarchy of version 2: absolute, or relative to the hierarchy's root.
    Path(String),
    /// That of the container with this name or id.
    Container(String),
}

/// An endpoint in Prometheus' text format or OpenMetrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prometheus {
    pub url: String,
    /// Names of metrics that are kept; `*` matches any part of a name.
    pub keep: Vec<String>,
    /// The interval between observations.
    pub every: Duration,
}

/// A PostgreSQL server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postgres {
    /// `postgresql://USER@HOST:PORT/DATABASE`.
    pub url: String,
    /// Tables whose rows, dead rows and sizes are observed: `NAME` or `SCHEMA.NAME`.
    pub tables: Vec<String>,
    /// The interval between observations.
    pub every: Duration,
}

/// A Redis server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redis {
    /// `redis://HOST:PORT`.
    pub url: String,
    /// The interval between observations.
    pub every: Duration,
}

/// Profiles that are captured at one time of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileMark {
    /// When they are captured.
    pub at: Mark,
    pub kinds: Vec<ProfileKind>,
    pub target: String,
    /// The length of the window that each covers.
    pub length: Duration,
}

/// When profiles are captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Once, from this time of the run.
    At(Duration),
    /// Once, in the middle of this phase.
    InPhase(String),
    /// Periodically, the first after one period.
    Every(Duration),
}

/// Characters that end a user's name or password in a URL. `%` is none: a value may be percent-encoded already.
const ENDS_PASSWORD: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'@')
    .add(b'[')
    .add(b']');

/// The address `source` with the values of environment variables filled in; that of an unknown one is empty. In a
/// password, which ends at the last `@` of `source`, characters that would end it are percent-encoded.
pub fn filled_address(source: &str, env: &BTreeMap<String, String>) -> String {
    // Without a scheme it may be keywords of libpq.
    let is_address = |user: &str| user.contains("://") || !user.contains('=');
    let Some((user, rest)) = source.rsplit_once('@').filter(|(user, _)| is_address(user)) else {
        return filled(source, env);
    };
    let encoded =
        env.iter().map(|(name, value)| (name.clone(), utf8_percent_encode(value, ENDS_PASSWORD).to_string()));
    [filled(user, &encoded.collect()), filled(rest, env)].join("@")
}

/// `source` with the values of environment variables filled in; that of an unknown one is empty.
pub fn filled(source: &str, env: &BTreeMap<String, String>) -> String {
    let Ok(template) = Template::parse(source) else { return source.to_owned() };
    let text_of = |value: &Value| match value {
        Value::Env(name) => env.get(name).cloned().unwrap_or_default(),
        _ => String::new(),
    };
    let parts = template.parts().iter().map(|part| match part {
        Part::Literal(text) => text.clone(),
        Part::Value(value) | Part::JsonValue(value) | Part::UrlValue(value) => text_of(value),
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_variables_are_filled_into_urls() {
        let env = BTreeMap::from([("PASSWORD".to_owned(), "s3cret".to_owned())]);
        assert_eq!(filled("postgresql://me:${env.PASSWORD}@db/shop", &env), "postgresql://me:s3cret@db/shop");
        assert_eq!(filled("http://127.0.0.1:1/metrics", &env), "http://127.0.0.1:1/metrics");
    }

    #[test]
    fn a_password_may_contain_what_ends_one() {
        let env = BTreeMap::from([("P".to_owned(), "a/b@c:d?%20".to_owned())]);
        let address = filled_address("redis://:${env.P}@db/0?x=${env.P}", &env);
        assert_eq!(address, "redis://:a%2Fb%40c:d%3F%20@db/0?x=a/b@c:d?%20");
        assert_eq!(filled_address("${env.P}", &env), "a/b@c:d?%20");
        assert_eq!(filled_address("me:${env.P}@proxy:3128", &env), "me:a%2Fb%40c:d%3F%20@proxy:3128");
        let keywords = "password=${env.P} host=a@b";
        assert_eq!(filled_address(keywords, &env), "password=a/b@c:d?%20 host=a@b");
    }
}
