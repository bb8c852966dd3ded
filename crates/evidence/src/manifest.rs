//! What a run was: workload, targets, machine, generator, seeds, times.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The version of the archive's tables and of the manifest; readers refuse newer ones.
pub const SCHEMA_VERSION: u32 = 2;

/// Written when the archive is begun; nothing in it changes later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// The plan's name.
    pub name: String,
    /// The resolved workload, as the `workload` room serialises it; environment values by name only.
    pub workload: serde_json::Value,
    /// SHA-256 of the resolved workload's JSON, hexadecimal.
    pub workload_digest: String,
    /// The run's seed.
    pub seed: u64,
    /// Wall-clock time of the run's epoch, RFC 3339 in UTC.
    pub started_at: String,
    /// What answered at each target before the run, by target name: version headers, process, port.
    pub targets: BTreeMap<String, BTreeMap<String, String>>,
    /// The machine: `cpu_model`, `cores`, `memory_bytes`, `kernel`, `hostname` …
    pub environment: BTreeMap<String, String>,
    /// The generator: `version`, `loops`, `open_files_limit` …
    pub generator: BTreeMap<String, String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how", content = "reason")]
pub enum Ending {
    /// Every scenario ran its course.
    Completed,
    /// A person or a signal stopped it; it was drained and sealed.
    Interrupted,
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
