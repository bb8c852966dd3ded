//! What is watched of a target from outside, and when it is profiled.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::ProfileKind;
use serde::{Deserialize, Serialize};

use crate::template::{Part, Template, Value};

/// What is watched of a target besides its process. URLs may hold `${env.NAME}`, which is kept by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// The control group, or the container, that it runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<CgroupRef>,
    /// Metrics that it shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prometheus: Option<Prometheus>,
    /// A PostgreSQL server that it uses, or is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres: Option<Postgres>,
    /// A Redis server that it uses, or is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redis: Option<Redis>,
    /// The URL under which it serves profiles as Go's `net/http/pprof` does: what comes before `/heap`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pprof: Option<String>,
}

impl Observation {
    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        *self == Observation::default()
    }
}

/// How a control group is named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CgroupRef {
    /// Its folder in the hierarchy of version 2: absolute, or below the hierarchy's root.
    Path(String),
    /// The one of the container with this name or id.
    Container(String),
}

/// An endpoint in Prometheus' text format or OpenMetrics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prometheus {
    /// Where it is.
    pub url: String,
    /// Names of metrics that are kept; `*` stands for any part of a name.
    pub keep: Vec<String>,
    /// How often it is asked.
    pub every: Duration,
}

/// A PostgreSQL server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Postgres {
    /// `postgresql://USER@HOST:PORT/DATABASE`.
    pub url: String,
    /// Tables whose rows, dead rows and sizes are watched: `NAME` or `SCHEMA.NAME`.
    pub tables: Vec<String>,
    /// How often it is asked.
    pub every: Duration,
}

/// A Redis server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redis {
    /// `redis://HOST:PORT`.
    pub url: String,
    /// How often it is asked.
    pub every: Duration,
}

/// Profiles that are captured at one mark of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfileMark {
    /// When.
    pub at: Mark,
    /// Of what.
    pub kinds: Vec<ProfileKind>,
    /// The target, by name.
    pub target: String,
    /// How long the window is that each covers.
    pub length: Duration,
}

/// When profiles are captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Once, beginning at this time of the run.
    At(Duration),
    /// Once, in the middle of this phase.
    InPhase(String),
    /// Again and again: the first begins after this time.
    Every(Duration),
}

/// `source` with the values of environment variables in it; none is left out when it is unknown.
pub fn filled(source: &str, env: &BTreeMap<String, String>) -> String {
    let Ok(template) = Template::parse(source) else { return source.to_owned() };
    let value = |value: &Value| match value {
        Value::Env(name) => env.get(name).cloned().unwrap_or_default(),
        _ => String::new(),
    };
    let parts = template.parts().iter().map(|part| match part {
        Part::Literal(text) => text.clone(),
        Part::Value(of) | Part::JsonValue(of) => value(of),
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_filled_from_the_environment() {
        let env = BTreeMap::from([("PASSWORD".to_owned(), "s3cret".to_owned())]);
        assert_eq!(filled("postgresql://me:${env.PASSWORD}@db/shop", &env), "postgresql://me:s3cret@db/shop");
        assert_eq!(filled("http://127.0.0.1:1/metrics", &env), "http://127.0.0.1:1/metrics");
    }
}
