//! What a run came to, as k6 divides it: metrics with their values and thresholds, groups, checks, scenarios.

use std::collections::BTreeMap;

use evidence::metric::MetricKind;
use md5::{Digest, Md5};

use super::number::TimeUnit;

/// What the values of a metric are amounts of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contains {
    /// Plain numbers.
    #[default]
    Default,
    /// Milliseconds.
    Time,
    /// Bytes.
    Data,
}

impl Contains {
    const ALL: [(Contains, &'static str); 3] =
        [(Contains::Default, "default"), (Contains::Time, "time"), (Contains::Data, "data")];

    /// What k6 calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(contains, _)| *contains == self).map_or("", |(_, name)| name)
    }

    /// What k6 calls so; none for any other text.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Contains> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(contains, _)| *contains)
    }
}

/// A threshold and whether the run met it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threshold {
    /// As the script has it: `p(95)<500`.
    pub source: String,
    /// The run met it.
    pub ok: bool,
}

impl Threshold {
    /// What it limits: `p(95)`.
    #[must_use]
    pub fn stat(&self) -> &str {
        self.left_side().trim_end_matches('!').trim_end()
    }

    /// What k6 shows before its value: of `value!=7` it is `value!`.
    pub(super) fn left_side(&self) -> &str {
        self.source.split(['<', '>', '=']).next().unwrap_or("").trim()
    }
}

/// One metric, or the part of one that a tag selects.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryMetric {
    /// How its values are read.
    pub kind: MetricKind,
    /// What they are amounts of.
    pub contains: Contains,
    /// By what k6 calls them: of counters `count` and `rate` (per second), of gauges `value`, `min` and `max`, of rates
    /// `rate` (0 to 1), `passes` and `fails`, of trends those asked for, such as `avg` or `p(95)`.
    pub values: BTreeMap<String, f64>,
    /// Its thresholds, in the order of the script.
    pub thresholds: Vec<Threshold>,
}

impl SummaryMetric {
    /// A value by its name; 0 where there is none.
    #[must_use]
    pub fn value(&self, name: &str) -> f64 {
        self.values.get(name).copied().unwrap_or(0.0)
    }
}

/// A check and how often it passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    /// How often it passed.
    pub passes: u64,
    /// How often it failed.
    pub fails: u64,
}

/// A group with its checks and the groups within it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Group {
    /// Its name; empty for the root.
    pub name: String,
    /// The names of those around it and its own, each after `::`; empty for the root.
    pub path: String,
    /// Those within it, in the order in which they were first entered.
    pub groups: Vec<Group>,
    /// Its checks, in the order in which they were first made.
    pub checks: Vec<Check>,
}

impl Group {
    /// The group at this path, which is made where there is none yet.
    pub fn at(&mut self, path: &str) -> &mut Group {
        path.split("::").skip(1).fold(self, |group, name| {
            let known = group.groups.iter().position(|inner| inner.name == name);
            let index = known.unwrap_or_else(|| {
                let path = format!("{}::{name}", group.path);
                group.groups.push(Group { name: name.to_owned(), path, ..Group::default() });
                group.groups.len() - 1
            });
            &mut group.groups[index]
        })
    }
}

/// The identity of a group or check: the MD5 of its path.
#[must_use]
pub fn id_of(path: &str) -> String {
    hex::encode(Md5::digest(path.as_bytes()))
}

/// What belongs to one scenario or group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// The name of the scenario or group.
    pub name: String,
    /// Its metrics, without those within groups of it that have sections of their own.
    pub metrics: BTreeMap<String, SummaryMetric>,
    /// Its checks, in the order in which they were first made.
    pub checks: Vec<Check>,
    /// Groups within it, in the order in which they were first entered.
    pub groups: Vec<Section>,
}

/// Where k6 writes to, and how long the run took.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RunState {
    /// Standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// From the begin of the run to its end, in milliseconds.
    pub duration_ms: f64,
}

impl RunState {
    /// So many in the whole run, per second of it; 0 if it took no time.
    #[must_use]
    pub fn per_second(&self, count: f64) -> f64 {
        let rate = count / (self.duration_ms / 1000.0);
        if rate.is_finite() { rate } else { 0.0 }
    }
}

/// What the options of the script ask of a summary.
#[derive(Debug, Clone, PartialEq)]
pub struct SummaryOptions {
    /// The values of trends, in the order in which they are shown.
    pub trend_stats: Vec<String>,
    /// The unit of durations; none for the one that suits each.
    pub time_unit: Option<TimeUnit>,
    /// `noColor`.
    pub no_color: bool,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        let stats = ["avg", "min", "med", "max", "p(90)", "p(95)"];
        SummaryOptions { trend_stats: stats.map(str::to_owned).to_vec(), time_unit: None, no_color: false }
    }
}

/// Everything that a summary shows.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SummaryData {
    /// The whole run: its metrics and, as `name{tag:value}`, parts of metrics, and its checks by name, wherever they were
    /// made; without groups.
    pub total: Section,
    /// The groups, and the checks in them.
    pub root: Group,
    /// Groups of `setup`, `teardown` and the scenario that is named `default`.
    pub groups: Vec<Section>,
    /// The other scenarios, by name.
    pub scenarios: Vec<Section>,
    /// Where k6 writes to, and how long the run took.
    pub state: RunState,
    /// What the script asks of the summary.
    pub options: SummaryOptions,
    /// What `setup` returned, if it did.
    pub setup_data: Option<serde_json::Value>,
}
