//! The metrics of scripts: k6's own and those that scripts make, with their sub-metrics.
//!
//! Values of a metric are divided by group and, of checks, by name, and by the sub-metrics that they belong to: those that
//! thresholds name, as in k6, so that tags with many values cost nothing. A sub-metric is the sum of the series that have its tags.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use engine::CheckNameIndex;
use engine::exchange::CheckResult;
use engine::iteration::Context;
use evidence::metric::{MetricHandle, MetricKey, MetricKind};

pub use crate::summary::Contains;

/// What separates groups in a path, and a check from its group.
pub(crate) const SEPARATOR: &str = MetricKey::SEPARATOR;

/// How many groups a scenario has on one loop, and how many checks all have; further ones are counted together. A run keeps no more
/// combinations apart, so that scripts that write a number into each name lose nothing by it, and need no more memory.
const MOST_NAMES: usize = 1_024;

/// A metric of k6's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    HttpReqs,
    HttpReqDuration,
    HttpReqBlocked,
    HttpReqConnecting,
    HttpReqTlsHandshaking,
    HttpReqSending,
    HttpReqWaiting,
    HttpReqReceiving,
    HttpReqFailed,
    DataSent,
    DataReceived,
    IterationDuration,
    Iterations,
    Checks,
    GroupDuration,
    GrpcReqDuration,
    WsSessions,
    WsConnecting,
    WsSessionDuration,
    WsMsgsSent,
    WsMsgsReceived,
    WsPing,
}

/// Their names, kinds and contents, in the order of [`Builtin`].
pub const BUILTINS: [(&str, MetricKind, Contains); 22] = [
    ("http_reqs", MetricKind::Counter, Contains::Default),
    ("http_req_duration", MetricKind::Trend, Contains::Time),
    ("http_req_blocked", MetricKind::Trend, Contains::Time),
    ("http_req_connecting", MetricKind::Trend, Contains::Time),
    ("http_req_tls_handshaking", MetricKind::Trend, Contains::Time),
    ("http_req_sending", MetricKind::Trend, Contains::Time),
    ("http_req_waiting", MetricKind::Trend, Contains::Time),
    ("http_req_receiving", MetricKind::Trend, Contains::Time),
    ("http_req_failed", MetricKind::Rate, Contains::Default),
    ("data_sent", MetricKind::Counter, Contains::Data),
    ("data_received", MetricKind::Counter, Contains::Data),
    ("iteration_duration", MetricKind::Trend, Contains::Time),
    ("iterations", MetricKind::Counter, Contains::Default),
    ("checks", MetricKind::Rate, Contains::Default),
    ("group_duration", MetricKind::Trend, Contains::Time),
    ("grpc_req_duration", MetricKind::Trend, Contains::Time),
    ("ws_sessions", MetricKind::Counter, Contains::Default),
    ("ws_connecting", MetricKind::Trend, Contains::Time),
    ("ws_session_duration", MetricKind::Trend, Contains::Time),
    ("ws_msgs_sent", MetricKind::Counter, Contains::Default),
    ("ws_msgs_received", MetricKind::Counter, Contains::Default),
    ("ws_ping", MetricKind::Trend, Contains::Time),
];

/// A sub-metric that a threshold names: of a metric, the values that have these tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubMetric {
    pub metric: String,
    /// Names and values of tags.
    pub tags: Vec<(String, String)>,
}

/// A metric of one loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MetricId(usize);

impl From<Builtin> for MetricId {
    fn from(builtin: Builtin) -> MetricId {
        MetricId(builtin as usize)
    }
}

/// The values of a metric that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeriesId(usize);

/// The tags of a value.
pub(crate) trait Tags {
    /// The value of a tag; none where it has no such tag.
    fn tag(&self, name: &str) -> Option<Cow<'_, str>>;

    /// The tags that the script gives with this value; of several with one name the last counts.
    fn given(&self) -> &[(String, String)];
}

/// Where a value was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SamplePlace {
    pub(crate) group: GroupId,
    /// The check that it is the result of.
    pub(crate) check: Option<CheckId>,
}

/// A group of a scenario on one loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct GroupId {
    scenario: u32,
    group: u32,
}

/// A group with its path, such as `::outer::inner`; empty outside of groups.
#[derive(Debug, Clone)]
pub(crate) struct GroupPath {
    pub(crate) id: GroupId,
    pub(crate) text: Rc<str>,
}

/// A check in a group of one loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CheckId(usize);

/// A group, and what was checked in it.
#[derive(Debug)]
struct Group {
    path: Rc<str>,
    checks: HashMap<String, CheckId>,
}

#[derive(Debug)]
struct Check {
    name: String,
    /// With its group.
    path: String,
    handle: Option<CheckNameIndex>,
}

#[derive(Debug)]
struct Metric {
    kind: MetricKind,
    contains: Contains,
    name: Rc<str>,
    /// Of each sub-metric the tags.
    sub_metrics: Vec<Vec<(String, String)>>,
    /// By scenario: where values were added first, which most of them are, and those that belong to no sub-metric.
    first: Vec<Option<(SamplePlace, SeriesId)>>,
    parts: HashMap<SamplePlace, Vec<Part>>,
}

/// Values of a metric that were added in one place and belong together.
#[derive(Debug)]
struct Part {
    /// To which of the sub-metrics they belong.
    sub_metrics: Vec<bool>,
    series: SeriesId,
}

#[derive(Debug)]
struct Series {
    kind: MetricKind,
    name: Rc<str>,
    tags: BTreeMap<String, String>,
    handle: Option<MetricHandle>,
}

impl Series {
    /// Its handle. Where a run has too many combinations its values belong to no group of their own, but still to their metric,
    /// and to the sub-metrics that thresholds name: space for that is kept before the first group takes it.
    fn met(&self, context: &mut Context<'_>) -> MetricHandle {
        let wider = MetricKey::wider_tags(&self.tags);
        let wider = wider.and_then(|wider| context.own_metric(self.kind, &self.name, &pairs(&wider)));
        match wider {
            Some(wider) => context.own_metric(self.kind, &self.name, &pairs(&self.tags)).unwrap_or(wider),
            None => context.metric(self.kind, &self.name, &pairs(&self.tags)),
        }
    }
}

fn pairs(tags: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    tags.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

/// Why a metric cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MetricError {
    /// Its name is not one.
    #[error(
        "Invalid metric name: '{0}'. Metric names must only include up to 128 ASCII letters, numbers, or underscores and start \
         with a letter or an underscore."
    )]
    Name(String),
    /// Another metric has the name.
    #[error("metric '{0}' already exists but with type {1}, instead of {2}")]
    Kind(String, MetricKind, MetricKind),
    /// Another metric has the name.
    #[error("metric '{0}' already exists but with a value type {1:?}, instead of {2:?}")]
    Contains(String, Contains, Contains),
}

/// The metrics of one loop, by name.
#[derive(Debug)]
pub(crate) struct Registry {
    /// The names of the scenarios; that of `setup` and `teardown` is empty.
    scenarios: Vec<String>,
    metrics: Vec<Metric>,
    series: Vec<Series>,
    by_name: HashMap<Rc<str>, MetricId>,
    groups: Vec<Group>,
    /// By scenario.
    groups_by_path: Vec<HashMap<Rc<str>, GroupId>>,
    checks: Vec<Check>,
    wanted: Rc<[SubMetric]>,
    /// Which sub-metrics a value belongs to, while it is added.
    belongs: Vec<bool>,
}

impl Registry {
    /// k6's own metrics for these scenarios, with these sub-metrics of any metric.
    pub(crate) fn new(scenarios: Vec<String>, wanted: Rc<[SubMetric]>) -> Registry {
        let mut registry = Registry {
            groups_by_path: vec![HashMap::new(); scenarios.len()],
            scenarios,
            metrics: Vec::new(),
            series: Vec::new(),
            by_name: HashMap::new(),
            groups: Vec::new(),
            checks: Vec::new(),
            wanted,
            belongs: Vec::new(),
        };
        for (name, kind, contains) in BUILTINS {
            registry.add(name, kind, contains);
        }
        registry
    }

    /// A metric that a script makes, or has made before with the same kind.
    ///
    /// # Errors
    /// [`MetricError`] when the name is none, or that of another kind of metric.
    pub(crate) fn declare(
        &mut self,
        name: &str,
        kind: MetricKind,
        contains: Contains,
    ) -> Result<MetricId, MetricError> {
        if let Some(known) = self.by_name.get(name) {
            let metric = &self.metrics[known.0];
            return match metric.kind == kind {
                true if metric.contains == contains => Ok(*known),
                true => Err(MetricError::Contains(name.to_owned(), metric.contains, contains)),
                false => Err(MetricError::Kind(name.to_owned(), metric.kind, kind)),
            };
        }
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
        // k6 says 128, and takes 2 to 129.
        let is_name = (2..=129).contains(&name.len())
            && name.as_bytes().first().is_some_and(is_letter)
            && name.bytes().all(|byte| is_letter(&byte) || byte.is_ascii_digit());
        if !is_name {
            return Err(MetricError::Name(name.to_owned()));
        }
        Ok(self.add(name, kind, contains))
    }

    fn add(&mut self, name: &str, kind: MetricKind, contains: Contains) -> MetricId {
        let name: Rc<str> = name.into();
        let of_metric = self.wanted.iter().filter(|sub| *sub.metric == *name);
        let sub_metrics = of_metric.map(|sub| sub.tags.clone()).collect();
        let (first, parts) = (vec![None; self.scenarios.len()], HashMap::new());
        self.metrics.push(Metric { kind, contains, name: name.clone(), sub_metrics, first, parts });
        let id = MetricId(self.metrics.len() - 1);
        self.by_name.insert(name, id);
        id
    }

    /// The group of this path in the scenario at a place.
    pub(crate) fn group(&mut self, scenario: usize, path: &str) -> GroupPath {
        if let Some((text, id)) = self.groups_by_path[scenario].get_key_value(path) {
            return GroupPath { id: *id, text: text.clone() };
        }
        let other = format!("{SEPARATOR}{}", MetricKey::FOLDED);
        if self.groups_by_path[scenario].len() >= MOST_NAMES && path != other {
            return GroupPath { text: path.into(), ..self.group(scenario, &other) };
        }
        let id = GroupId { scenario: scenario as u32, group: self.groups.len() as u32 };
        let text = Rc::<str>::from(path);
        self.groups.push(Group { path: text.clone(), checks: HashMap::new() });
        self.groups_by_path[scenario].insert(text.clone(), id);
        GroupPath { id, text }
    }

    /// The check of this name in a group.
    pub(crate) fn check(&mut self, group: GroupId, name: &str) -> CheckId {
        if let Some(known) = self.groups[group.group as usize].checks.get(name) {
            return *known;
        }
        if self.checks.len() >= MOST_NAMES && name != MetricKey::FOLDED {
            return self.check(group, MetricKey::FOLDED);
        }
        let group = &mut self.groups[group.group as usize];
        let id = CheckId(self.checks.len());
        group.checks.insert(name.to_owned(), id);
        let path = format!("{}{SEPARATOR}{name}", group.path);
        self.checks.push(Check { name: name.to_owned(), path, handle: None });
        id
    }

    /// Count the result of a check for the run's own checks.
    pub(crate) fn count_check(&mut self, check: CheckId, result: CheckResult, context: &mut Context<'_>) {
        let check = &mut self.checks[check.0];
        let handle = *check.handle.get_or_insert_with(|| context.iteration_check(&check.path));
        context.check_iteration(handle, result);
    }

    /// Where a value of a metric with these tags is added.
    pub(crate) fn series_of(&mut self, metric: MetricId, place: SamplePlace, tags: &dyn Tags) -> SeriesId {
        let known = &self.metrics[metric.0];
        let first = known.first[place.group.scenario as usize].filter(|_| known.sub_metrics.is_empty());
        if let Some((_, series)) = first.filter(|(first, _)| *first == place) {
            return series;
        }
        let belongs_to = |sub_metric: &Vec<(String, String)>| {
            sub_metric.iter().all(|(name, value)| tags.tag(name).is_some_and(|has| has == *value))
        };
        self.belongs.clear();
        self.belongs.extend(known.sub_metrics.iter().map(belongs_to));
        let is_same = |part: &&Part| part.sub_metrics == self.belongs;
        match known.parts.get(&place).and_then(|parts| parts.iter().find(is_same)) {
            Some(part) => part.series,
            None => self.add_part(metric, place),
        }
    }

    fn add_part(&mut self, metric: MetricId, place: SamplePlace) -> SeriesId {
        let series = SeriesId(self.series.len());
        let metric = &mut self.metrics[metric.0];
        let mut tags: BTreeMap<String, String> = metric
            .sub_metrics
            .iter()
            .zip(&self.belongs)
            .filter(|(_, belongs)| **belongs)
            .flat_map(|(sub_metric, _)| sub_metric.iter().cloned())
            .collect();
        let scenario = place.group.scenario as usize;
        if !self.scenarios[scenario].is_empty() {
            tags.insert("scenario".to_owned(), self.scenarios[scenario].clone());
        }
        tags.insert("group".to_owned(), self.groups[place.group.group as usize].path.to_string());
        if let Some(check) = place.check {
            tags.insert("check".to_owned(), self.checks[check.0].name.clone());
        }
        self.series.push(Series { kind: metric.kind, name: metric.name.clone(), tags, handle: None });
        metric.first[scenario].get_or_insert((place, series));
        let parts = metric.parts.entry(place).or_default();
        parts.push(Part { sub_metrics: self.belongs.clone(), series });
        series
    }

    /// Add a value. One that is not finite is left out.
    pub(crate) fn add_value(&mut self, series: SeriesId, value: f64, context: &mut Context<'_>) {
        let series = &mut self.series[series.0];
        let handle = match series.handle {
            Some(handle) => handle,
            None => *series.handle.insert(series.met(context)),
        };
        // A script sees that such a value is refused when it adds it.
        let _ = context.add(handle, value);
    }

    pub(crate) fn name(&self, metric: MetricId) -> &str {
        &self.metrics[metric.0].name
    }

    /// The metrics that are not k6's own: names, kinds, contents.
    pub(crate) fn made_by_script(&self) -> Vec<(String, MetricKind, Contains)> {
        let made = &self.metrics[BUILTINS.len()..];
        made.iter().map(|metric| (metric.name.to_string(), metric.kind, metric.contains)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_end_are_counted_together() {
        let mut registry = Registry::new(vec!["s".to_owned()], Rc::new([]));
        let tags = Vec::new();
        let mut add = |group: &str, check: &str| {
            let group = registry.group(0, group);
            let check = registry.check(group.id, check);
            let place = SamplePlace { group: group.id, check: Some(check) };
            (group.text, registry.series_of(Builtin::Checks.into(), place, &tags), registry.series.len())
        };
        let first = add("::g", "c").1;
        for number in 0..5_000 {
            add(&format!("::g{number}"), &format!("c{number}"));
        }
        assert_eq!(add("::g", "c").1, first);
        let (text, late, all) = add("::late", "x");
        assert_eq!((&*text, late), ("::late", add("::later", "y").1));
        assert!(all <= MOST_NAMES + 1, "{all}");
    }
}
