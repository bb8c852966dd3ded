//! Plan files: TOML in, a resolved workload out, or every error in it at once.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::data::Table;
use crate::message::Schemas;
use crate::model::Workload;

mod errors;

pub use errors::{PlanError, PlanErrors};

/// How files are read. This room reads none itself.
pub trait Files {
    /// The bytes of the file at `path`.
    ///
    /// # Errors
    /// Whatever the reader could not do.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
}

/// Changes to a plan without editing it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overrides {
    /// `--target NAME=URL`: where a target is. A URL (or host and port) as the plan would have it.
    pub targets: BTreeMap<String, String>,
    /// `--time-scale F`: every phase, stage, duration, start and graceful stop becomes F times as long (graceful
    /// stops not shorter than 1 s). Rates, timeouts and think times stay.
    pub time_scale: Option<f64>,
    /// `--load F`: every rate becomes F times as high, every number of virtual users too (rounded, at least 1).
    pub load: Option<f64>,
    /// `--seed N`.
    pub seed: Option<u64>,
}

/// A plan that can be run.
#[derive(Debug, Clone)]
pub struct LoadedPlan {
    /// What to offer.
    pub workload: Workload,
    /// The rows of the data files, by name.
    pub tables: BTreeMap<String, Table>,
    /// The descriptions of gRPC targets.
    pub schemas: Schemas,
    /// The environment variables the plan uses, with their values: secrets, never to be stored.
    pub env: BTreeMap<String, String>,
}

/// Read the plan at `path`.
pub fn load(
    _path: &Path,
    _files: &dyn Files,
    _env: &dyn Fn(&str) -> Option<String>,
    _overrides: &Overrides,
) -> Result<LoadedPlan, PlanErrors> {
    todo!()
}
