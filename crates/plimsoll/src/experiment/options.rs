//! How the runs of an experiment are made and kept.

use std::path::PathBuf;

use evidence::Calibration;

/// How the runs of an experiment are made and kept.
#[derive(Debug, Default)]
pub(crate) struct SessionOptions {
    /// The folder to go on with.
    pub(crate) resume: Option<PathBuf>,
    /// The folder for the runs; none: by name and time.
    pub(crate) folder: Option<PathBuf>,
    /// Loops that offer the load.
    pub(crate) loops: u16,
    /// Without progress.
    pub(crate) is_quiet: bool,
    /// What was found by pairs of A against A.
    pub(crate) calibration: Option<Calibration>,
}
