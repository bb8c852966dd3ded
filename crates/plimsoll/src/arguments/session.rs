//! What all experiments have in common.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use conduct::run_request::Progress;
use experiments::session::SessionOptions;

use super::VerdictOutputArguments;

/// How the runs of an experiment are made, kept and reported.
#[derive(Debug, Args)]
pub(crate) struct SessionArguments {
    /// The folder for the run files and their list [default: the name with the time, `.ab` or `.capacity`]
    #[arg(short, long, value_name = "DIR", conflicts_with_all = ["judge", "resume"])]
    pub(crate) output: Option<PathBuf>,
    /// Go on with the runs of this folder
    #[arg(long, value_name = "DIR", conflicts_with = "judge")]
    pub(crate) resume: Option<PathBuf>,
    /// Judge the runs of this folder again
    #[arg(long, value_name = "DIR")]
    pub(crate) judge: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) slots: SlotArguments,
    #[command(flatten)]
    pub(crate) outputs: VerdictOutputArguments,
}

impl SessionArguments {
    /// How the runs are made and kept.
    pub(crate) fn options(&self) -> SessionOptions {
        let SlotArguments { loops, quiet } = self.slots;
        SessionOptions {
            resume: self.resume.clone(),
            folder: self.output.clone(),
            loops,
            progress: Progress::unless(quiet),
        }
    }
}

/// How each of their runs is made.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct SlotArguments {
    /// Loops that offer the load
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) loops: u16,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// A time that is not 0.
pub(super) fn longer_than_0(text: &str) -> Result<Duration, String> {
    match workload::units::duration(text) {
        Ok(zero) if zero.is_zero() => Err("expected a duration longer than 0".to_owned()),
        result => result,
    }
}
