//! The arguments of `plimsoll diagnose`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::session::longer_than_0;
use super::{SlotArguments, VerdictOutputArguments};

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll diagnose run.plimsoll                  what a run with three or more levels of load shows
  plimsoll diagnose plan.toml                     arrange the levels: about five minutes of load
  plimsoll diagnose plan.toml --start ./service --objective 'p95(list) < 50ms'
  plimsoll diagnose plan.toml --start ./service --confirm POOL=8          and whether a larger pool moves the limit
  plimsoll diagnose http://127.0.0.1:8000/ --objective 'p95 < 50ms'
  plimsoll diagnose list-2026-03-01T10-00-00Z.capacity --html limit.html
Exit code 0: a limit is named, and with --confirm CONFIRMED; 4: UNDETERMINED, or not confirmed; 5: the evidence says nothing of the target.";

/// What is diagnosed, and where it is reported.
#[derive(Debug, Args)]
pub(crate) struct DiagnoseArguments {
    /// A run file, the folder of a capacity search, a plan, an experiment of `capacity`, or a URL of what runs already
    #[arg(value_name = "FILE|DIR|URL")]
    pub(crate) subject: PathBuf,
    /// Objective that breaks at the limit, such as `p95(list) < 50ms`; repeatable [default: the plan's, or that 95 % of what is
    /// offered is answered correctly]
    #[arg(long = "objective", value_name = "OBJECTIVE")]
    pub(crate) objectives: Vec<String>,
    /// The command that starts the target, with a plan; run by sh [default: it runs already]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) start: Option<String>,
    /// With --start: the URL that answers 2xx once it is ready
    #[arg(long, value_name = "URL", requires = "start")]
    pub(crate) ready: Option<String>,
    /// Confirm the limit that is named: start the target again with more of it, and compare where both break. `NAME=VALUE` sets an
    /// environment variable of the start command, `cpus=0-1` its processors, `start=COMMAND` replaces it; repeatable
    #[arg(long, value_name = "CHANGE")]
    pub(crate) confirm: Vec<String>,
    /// The command that sets the state back before each level
    #[arg(long, value_name = "COMMAND")]
    pub(crate) reset: Option<String>,
    /// The time under load of each level [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    pub(crate) step: Option<Duration>,
    /// Time limit of all levels [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    pub(crate) budget: Option<Duration>,
    /// The folder for the run files of the levels [default: the name with the time, `.capacity`]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) slots: SlotArguments,
    #[command(flatten)]
    pub(crate) outputs: VerdictOutputArguments,
}
