//! The processes that are to offer the load of a run instead of this one.

use std::path::PathBuf;
use std::time::Duration;

/// Workers that a run is to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    pub places: WorkerPlaces,
    /// How long they have to be connected, and then to be ready.
    pub patience: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerPlaces {
    /// So many processes of this machine, which the run starts and ends.
    Here(u16),
    /// Processes that run already.
    At {
        /// Their addresses.
        workers: Vec<ListedWorker>,
        /// The file with the keys that they share with the run.
        keys: Option<PathBuf>,
        /// The file with the token that they share with the run; without keys and without this it is in the environment.
        token_file: Option<PathBuf>,
    },
}

/// A worker by its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorker {
    /// `HOST:PORT`.
    pub address: String,
    /// It offers so many times what one without a weight does.
    pub weight: u16,
}
