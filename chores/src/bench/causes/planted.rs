//! What is planted in servers that others wrote: data, read from `planted.toml`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;

const TEXT: &str = include_str!("planted.toml");

/// Every planted cause, and how the programs are installed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Catalogue {
    /// Commands that install a program where it is missing, run in the folder of all.
    pub(super) programs: BTreeMap<String, String>,
    pub(super) planted: Vec<Planted>,
}

/// A cause in a service.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Planted {
    pub(super) service: String,
    pub(super) cause: String,
    pub(super) severities: [u64; 3],
    /// The lines of the ledger that are right; none where the right answer is UNDETERMINED.
    pub(super) named: Vec<String>,
    /// Run before the processes start.
    pub(super) prepare: String,
    pub(super) start: Vec<String>,
    /// Run when they have started.
    #[serde(default)]
    pub(super) fill: Option<String>,
    pub(super) path: String,
    #[serde(default)]
    pub(super) file: Option<File>,
    /// The severity is the number of the plan's virtual users.
    #[serde(default)]
    pub(super) has_few_users: bool,
    /// The second process is a target of the plan too.
    #[serde(default)]
    pub(super) is_backend_observed: bool,
}

/// A file that the processes read.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) text: String,
}

/// What the marks of the texts stand for.
pub(super) struct Marks<'a> {
    pub(super) programs: &'a str,
    pub(super) port: u16,
    pub(super) backend: u16,
    pub(super) severity: u64,
}

impl Catalogue {
    /// # Errors
    /// When the data is not as described here.
    pub(super) fn read() -> Result<Self> {
        toml::from_str(TEXT).context("cannot read planted.toml")
    }
}

impl Marks<'_> {
    /// The text with what its marks stand for.
    pub(super) fn resolve(&self, text: &str) -> String {
        text.replace("@programs", self.programs)
            .replace("@port", &self.port.to_string())
            .replace("@backend", &self.backend.to_string())
            .replace("@n", &self.severity.to_string())
    }
}
