//! Options of what is shown and stored: statistics, the unit of time, tags.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::dns::one_of;
use super::fields::{FromJson, FromText, is_null_or_empty, mismatch};
pub use crate::summary::number::TimeUnit;

/// A statistic of a trend in the summary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrendStatistic {
    /// The mean.
    Avg,
    Min,
    /// The median.
    Med,
    Max,
    Count,
    /// A percentile, from 0 to 100.
    Percentile(f64),
}

/// The tags that observations get of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemTags(BTreeSet<&'static str>);

/// The tags that are set by default.
pub const DEFAULT_SYSTEM_TAGS: [&str; 14] = [
    "check",
    "error",
    "error_code",
    "expected_response",
    "group",
    "method",
    "name",
    "proto",
    "scenario",
    "service",
    "status",
    "subproto",
    "tls_version",
    "url",
];
/// The tags that are set on demand.
const OTHER_SYSTEM_TAGS: [&str; 4] = ["ip", "iter", "ocsp_status", "vu"];
const NAMED: [(&str, TrendStatistic); 5] = [
    ("avg", TrendStatistic::Avg),
    ("min", TrendStatistic::Min),
    ("med", TrendStatistic::Med),
    ("max", TrendStatistic::Max),
    ("count", TrendStatistic::Count),
];
const TIME_UNITS: [(&str, TimeUnit); 3] =
    [("s", TimeUnit::Seconds), ("ms", TimeUnit::Milliseconds), ("us", TimeUnit::Microseconds)];

impl TrendStatistic {
    /// Those that the summary shows by default.
    pub fn defaults() -> Vec<TrendStatistic> {
        use TrendStatistic::{Avg, Max, Med, Min, Percentile};
        vec![Avg, Min, Med, Max, Percentile(90.0), Percentile(95.0)]
    }
}

impl FromText for TrendStatistic {
    fn from_text(text: &str) -> Result<TrendStatistic, String> {
        if let Some((_, statistic)) = NAMED.iter().find(|(name, _)| *name == text.trim()) {
            return Ok(*statistic);
        }
        let percent = text.trim().strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
        let percent = percent.and_then(|percent| percent.parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(TrendStatistic::Percentile).ok_or_else(|| {
            format!("must be avg, min, med, max, count or p(N) with N from 0 to 100, not {text:?}")
        })
    }
}

impl FromJson for TrendStatistic {
    fn from_json(value: &Value) -> Result<TrendStatistic, String> {
        TrendStatistic::from_text(value.as_str().ok_or_else(|| mismatch("a text", value))?)
    }
}

/// As the summary names it: `avg`, `p(99.9)`.
impl fmt::Display for TrendStatistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMED.iter().find(|(_, statistic)| statistic == self)) {
            (_, Some((name, _))) => f.write_str(name),
            (TrendStatistic::Percentile(percent), None) => write!(f, "p({percent})"),
            _ => Ok(()),
        }
    }
}

impl FromJson for TimeUnit {
    fn from_json(value: &Value) -> Result<TimeUnit, String> {
        one_of(&TIME_UNITS, value)
    }

    fn is_unset(value: &Value) -> bool {
        is_null_or_empty(value)
    }
}

impl FromText for TimeUnit {
    fn from_text(text: &str) -> Result<TimeUnit, String> {
        one_of(&TIME_UNITS, &Value::from(text))
    }
}

impl SystemTags {
    /// Whether observations get the tag of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// All of them, in the order of their names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().copied()
    }

    /// Those of these names; k6 has no effect of an unknown one, so it is left out.
    fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> SystemTags {
        let known = |name: &str| {
            DEFAULT_SYSTEM_TAGS.iter().chain(&OTHER_SYSTEM_TAGS).find(|known| **known == name.trim()).copied()
        };
        SystemTags(names.into_iter().filter_map(known).collect())
    }
}

impl Default for SystemTags {
    fn default() -> SystemTags {
        SystemTags(DEFAULT_SYSTEM_TAGS.into())
    }
}

impl FromJson for SystemTags {
    fn from_json(value: &Value) -> Result<SystemTags, String> {
        let names = Vec::<String>::from_json(value)?;
        Ok(SystemTags::named(names.iter().map(String::as_str)))
    }
}

impl FromText for SystemTags {
    fn from_text(text: &str) -> Result<SystemTags, String> {
        Ok(SystemTags::named(text.split(',')))
    }
}
