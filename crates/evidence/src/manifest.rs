//! What a run was: workload, targets, machine, generator, seeds, times.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::instance::Instance;
use crate::unknown::UnknownRecords;

/// The version of the archive's tables and of the manifest; readers refuse newer ones.
pub const SCHEMA_VERSION: u32 = 7;

/// Written when the archive is begun; nothing in it changes later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The plan's name.
    pub name: String,
    /// The resolved workload, as the crate `workload` serialises it; environment values by name only.
    pub workload: serde_json::Value,
    /// SHA-256 of the resolved workload's JSON, hexadecimal.
    pub workload_digest: String,
    /// The run's seed.
    pub seed: u64,
    /// Wall-clock time of the run's epoch, RFC 3339 in UTC, or [`Manifest::UNKNOWN_START`].
    pub started_at: String,
    /// What answered at each target before the run, by target name: version headers, process, port.
    pub targets: BTreeMap<String, BTreeMap<String, String>>,
    /// The machine: `cpu_model`, `cores`, `memory_bytes`, `kernel`, `hostname` …
    pub environment: BTreeMap<String, String>,
    /// The generator: `version`, `loops`, `open_files_limit` …
    pub generator: BTreeMap<String, String>,
    /// Of a run that another tool made: what is known of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The processes that offered the load, where those were others than the one that recorded it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
}

/// A process that offered a part of the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// Its machine and process; its loops are counted from 0.
    pub place: Instance,
    /// Where it was connected to.
    pub address: String,
    /// How many loops it has.
    pub loops: u16,
    /// The version of its program.
    pub version: String,
    /// The digest of the workload that it read, which is the run's.
    pub workload_digest: String,
    /// Its machine, as [`Manifest::environment`].
    pub environment: BTreeMap<String, String>,
    /// The process.
    pub pid: u32,
    /// Its monotonic clock less that of the process that recorded, in nanoseconds, before the load.
    pub clock_offset_ns: i64,
    /// The true difference is within so many nanoseconds of it.
    pub clock_error_ns: u64,
}

impl Worker {
    /// What it is called wherever it is named, by its number in the run: `worker 2 (127.0.0.1:7400)`.
    pub fn name_of(number: u32, address: &str) -> String {
        format!("worker {number} ({address})")
    }
}

impl Manifest {
    /// The start of an imported run whose source does not say when it was.
    pub const UNKNOWN_START: &'static str = "start not known";

    /// Of a run of which nothing else is known.
    pub fn named(name: impl Into<String>) -> Manifest {
        Manifest {
            schema_version: SCHEMA_VERSION,
            name: name.into(),
            workload: serde_json::Value::Null,
            workload_digest: String::new(),
            seed: 0,
            started_at: String::new(),
            targets: BTreeMap::new(),
            environment: BTreeMap::new(),
            generator: BTreeMap::new(),
            source: None,
            workers: Vec::new(),
        }
    }

    /// Whether both are of one and the same run. Of runs whose start is not known that cannot be said.
    pub fn is_of_same_run(&self, other: &Manifest) -> bool {
        self == other && !self.started_at.is_empty() && self.started_at != Manifest::UNKNOWN_START
    }

    /// Whether the run file is of a version that counts requests during stalls apart.
    pub fn counts_perturbed(&self) -> bool {
        self.schema_version >= 3
    }

    /// Whether the run file is of a version that counts requests by the status of their response.
    pub fn counts_statuses(&self) -> bool {
        self.schema_version >= 5
    }

    /// Whether the run file is of a version that counts requests by the phase in which they ended, besides the one in which
    /// they were due. Requests of imported runs are in the phase in which they ended.
    pub fn counts_windows(&self) -> bool {
        self.schema_version >= 6 || self.source.is_some()
    }
}

/// Where an imported run comes from, and what that source could not know.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The tool that offered the load, such as `k6`.
    pub tool: String,
    /// What its files are, such as `k6 NDJSON`.
    pub format: String,
    /// The files' names.
    pub files: Vec<String>,
    /// What it did not keep; rules that need it say that it is unknown.
    pub missing: BTreeSet<Missing>,
    /// Numbers that it worked out itself, for which there is no evidence here.
    pub figures: Vec<SourceFigure>,
    /// What these numbers say of requests; empty where it has the requests themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<RequestSummary>,
    /// What it says of itself besides, by name.
    pub facts: BTreeMap<String, String>,
    /// What was found wrong with its files and what was left out, in sentences.
    pub remarks: Vec<String>,
    /// How many lines or records could not be read.
    pub malformed: u64,
    /// The first of them: where it is, and what is wrong with it.
    pub first_malformed: Option<String>,
    /// The first few of them: where each is, what is wrong with it, and how it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Observations that may lie on either side of every objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<UnknownRecords>,
}

impl Source {
    /// Whether it did not keep this.
    pub fn lacks(&self, what: Missing) -> bool {
        self.missing.contains(&what)
    }
}

/// What a source may not have kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// When each request was due: response times begin where it was sent.
    DueTimes,
    /// How many arrivals were due, and how many of them began.
    Arrivals,
    /// Whether arrivals were dropped, or why.
    Drops,
    /// Whether arrivals depended on completions.
    Model,
    /// How busy the generator was.
    GeneratorLoad,
    /// The time limit of a request.
    TimeLimits,
    /// What answered: version, process, machine.
    TargetIdentity,
    /// The generator's machine.
    Environment,
    /// How requests ended.
    Outcomes,
    /// Single values: there are percentiles and sums alone.
    Distributions,
}

impl Missing {
    /// What is not known, in words.
    pub fn words(self) -> &'static str {
        match self {
            Missing::DueTimes => "when requests were due",
            Missing::Arrivals => "how many arrivals were due and begun",
            Missing::Drops => "what was dropped, and why",
            Missing::Model => "whether arrivals waited for completions",
            Missing::GeneratorLoad => "how busy the generator was",
            Missing::TimeLimits => "the time limits of requests",
            Missing::TargetIdentity => "what answered",
            Missing::Environment => "on which machine the generator ran",
            Missing::Outcomes => "how requests ended",
            Missing::Distributions => "single values, of which percentiles could be formed anew",
        }
    }
}

/// A number that a source worked out itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceFigure {
    /// What it is about: a metric or an endpoint, as the source calls it.
    pub of: String,
    /// Such as `avg`, `p95`, `max`, `count`, `rate`.
    pub name: String,
    /// In `unit`.
    pub value: f64,
    /// `ms`, `bytes`, `1/s`, or `1` for shares and counts.
    pub unit: String,
}

/// What a source states of requests whose single times it did not keep: counts, and quantiles that it computed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestSummary {
    /// Their scenario; empty for requests of all scenarios.
    pub scenario: String,
    /// Their endpoint; empty for requests of all endpoints.
    pub endpoint: String,
    /// How many there were, whatever their outcome.
    pub requests: Option<u64>,
    /// How many of them failed.
    pub failed: Option<u64>,
    /// How many there were a second.
    #[serde(default)]
    pub per_s: Option<f64>,
    /// How many more were due and never sent.
    pub dropped: u64,
    /// Quantiles of their times.
    pub times: Vec<TimesSummary>,
    /// How many checks passed.
    pub checks_passed: Option<u64>,
    /// How many checks failed.
    pub checks_failed: Option<u64>,
}

/// Quantiles of response times, as a source computed them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TimesSummary {
    /// How many times they are quantiles of.
    pub count: u64,
    /// How many of these are times of requests that failed; none where that is unknown.
    pub failed: Option<u64>,
    /// By how much the source may have rounded a time, as a share of it.
    pub rounding: f64,
    /// In any order.
    pub quantiles: Vec<StatedQuantile>,
}

/// A quantile that a source states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StatedQuantile {
    /// Which one, 0 (the lowest time) to 1 (the highest).
    pub q: f64,
    /// In milliseconds.
    pub ms: f64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "reason")]
pub enum Ending {
    /// Every scenario ran to its planned end.
    Completed,
    /// A person, a signal or its own script stopped it; it was sealed.
    Interrupted,
    /// A stop rule of the plan ended it: that of the objective of this name. It was drained and sealed.
    Stopped(String),
    /// Every objective was decided before the planned end, as was asked for. It was drained and sealed.
    Decided,
    /// The measurement became impossible; the reason says why.
    Aborted(String),
}

/// Written when the archive is sealed. An archive without one was killed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnd {
    /// How it ended.
    pub ending: Ending,
    /// The last second of the run that has evidence.
    pub last_second: u32,
    /// Requests still in flight when the engine returned: begun, and no outcome recorded.
    pub requests_in_flight: u64,
    /// Iterations still under way when the engine returned.
    pub iterations_in_flight: u64,
    /// Endpoint names that were folded into one because there were too many.
    pub folded_endpoints: u64,
    /// Ticks that were folded into a later one because the recorder lagged.
    pub folded_ticks: u64,
}

impl RunEnd {
    /// An end with nothing in flight and nothing folded.
    pub fn new(ending: Ending, last_second: u32) -> RunEnd {
        RunEnd {
            ending,
            last_second,
            requests_in_flight: 0,
            iterations_in_flight: 0,
            folded_endpoints: 0,
            folded_ticks: 0,
        }
    }
}
