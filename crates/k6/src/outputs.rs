//! Files of all values of a script, as k6 writes them with `--out json` and `--out csv`.

mod files;
mod metric_lines;
mod targets;
mod tick_values;
mod value_ticks;

use std::io;
use std::path::PathBuf;

pub use files::{ValueFiles, ValueFilesEnd, ValueFilesError};
pub use metric_lines::{MetricLines, metric_lines};
pub use targets::{ValueFormat, ValueTarget, described, targets};
pub use tick_values::{TickValue, TickValues};
pub use value_ticks::ValueTicks;

/// An output that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It is not one of those that are supported.
    #[error("the output '{0}' is not supported; those that are: csv, json")]
    Unsupported(String),
    /// It has no such setting.
    #[error("the output 'csv' has no setting '{0}'")]
    Setting(String),
    /// It has no such format of times.
    #[error("the output 'csv' has no time format '{0}'; see K6_CSV_TIME_FORMAT")]
    TimeFormat(String),
    /// Its file cannot be made.
    #[error("cannot write {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// There is no thread to write it.
    #[error("cannot start the thread that writes values: {0}")]
    Thread(io::Error),
}
