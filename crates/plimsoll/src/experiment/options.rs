//! How the runs of an experiment are made and kept.

use std::path::PathBuf;

use evidence::Calibration;

use crate::arguments::SlotArguments;

/// How the runs of an experiment are made and kept.
#[derive(Debug)]
pub(crate) struct SessionOptions {
    /// The folder to go on with.
    pub(crate) resume: Option<PathBuf>,
    /// The folder for the runs; none: by name and time.
    pub(crate) folder: Option<PathBuf>,
    /// How each of them is made.
    pub(crate) slots: SlotArguments,
    /// What was found by pairs of A against A.
    pub(crate) calibration: Option<Calibration>,
}
