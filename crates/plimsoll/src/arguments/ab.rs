//! The arguments of `plimsoll ab` and `plimsoll calibrate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::session::longer_than_0;
use super::{ReportFileArguments, SessionArguments, SlotArguments};

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll ab experiment.toml                     runs of both arms, until it is decided
  plimsoll ab --a './service-old' --b './service-new' plan.toml
  plimsoll ab --a ./old --b ./new plan.toml --slot 30s --budget 20m --gate 'p95(list)'
  plimsoll ab http://127.0.0.1:8081/list http://127.0.0.1:8082/list
  plimsoll ab experiment.toml --resume experiment-2026-03-01T10-00-00Z.ab
  plimsoll ab --judge experiment-2026-03-01T10-00-00Z.ab --md ab.md
  plimsoll ab --from old*.plimsoll --against new*.plimsoll
  git bisect run plimsoll ab --bisect --build 'cargo build --release' ../experiment.toml";

/// What an experiment is made of, and where it is reported.
#[derive(Debug, Args)]
pub(crate) struct AbArguments {
    /// The experiment file, a plan with --a and --b, or the URL of a version A that runs already
    #[arg(value_name = "FILE|URL_A", required_unless_present_any = ["from", "judge"], conflicts_with_all = ["from", "judge"])]
    pub(crate) file: Option<PathBuf>,
    /// The same URL of a version B that runs already
    #[arg(value_name = "URL_B", conflicts_with_all = ["from", "judge", "a", "bisect"])]
    pub(crate) url_of_b: Option<String>,
    /// With two URLs: what each version is sent [default: 50/s]
    #[arg(long, value_name = "RATE", requires = "url_of_b")]
    pub(crate) rate: Option<String>,
    /// The command that starts A, the baseline; run by sh
    #[arg(long, value_name = "COMMAND", requires = "b", conflicts_with_all = ["from", "judge"])]
    pub(crate) a: Option<String>,
    /// The command that starts B, the candidate
    #[arg(long, value_name = "COMMAND", requires = "a")]
    pub(crate) b: Option<String>,
    /// With --a and --b: the URL that answers 2xx once either is ready
    #[arg(long, value_name = "URL", requires = "a")]
    pub(crate) ready: Option<String>,
    /// With --a and --b: command that resets the service's state before each run
    #[arg(long, value_name = "COMMAND", requires = "a")]
    pub(crate) reset: Option<String>,
    /// The time under load of each run, instead of the plan's
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    pub(crate) slot: Option<Duration>,
    /// Numbers of pairs after which the differences are judged [default: 6,10,16]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub(crate) looks: Vec<u32>,
    /// Time limit of the whole experiment
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    pub(crate) budget: Option<Duration>,
    /// Seed of the order within pairs and of the load
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Metric that decides, such as `p95(list)` or `cpu_per_request(target = api)`; repeatable
    #[arg(long, value_name = "MEASURE")]
    pub(crate) gate: Vec<String>,
    /// Exit as `git bisect run` expects: 0 good, 1 bad, 125 skip; uses more pairs
    #[arg(long, conflicts_with_all = ["from", "judge", "resume"])]
    pub(crate) bisect: bool,
    /// With --bisect: command that builds the checked-out commit; commits that do not build are skipped
    #[arg(long, value_name = "COMMAND", requires = "bisect")]
    pub(crate) build: Option<String>,
    /// The calibration to use [default: that of this host and workload, by `plimsoll calibrate`]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "judge"])]
    pub(crate) calibration: Option<PathBuf>,
    /// Run files of A, recorded elsewhere
    #[arg(
        long, value_name = "FILE", num_args = 1.., requires = "against",
        conflicts_with_all = ["output", "resume", "judge"]
    )]
    pub(crate) from: Vec<PathBuf>,
    /// Run files of B, recorded elsewhere and interleaved with those of A
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "from")]
    pub(crate) against: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

/// What a calibration is made of.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArguments {
    /// A plan (its targets must be running, or use --start), or an experiment, whose arm A is calibrated
    pub(crate) file: PathBuf,
    /// With a plan: the command that starts its targets; run by sh
    #[arg(long, value_name = "COMMAND")]
    pub(crate) start: Option<String>,
    /// With --start: the URL that answers 2xx once it is ready
    #[arg(long, value_name = "URL", requires = "start")]
    pub(crate) ready: Option<String>,
    /// With a plan: command that resets the service's state before each run
    #[arg(long, value_name = "COMMAND")]
    pub(crate) reset: Option<String>,
    /// How many pairs
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u32).range(5..=200))]
    pub(crate) pairs: u32,
    /// The time under load of each run, instead of the plan's
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    pub(crate) slot: Option<Duration>,
    /// Seed of the order within pairs and of the load
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
    /// Metric to calibrate, such as `p95(list)`; repeatable [default: what `ab` decides by]
    #[arg(long, value_name = "MEASURE")]
    pub(crate) gate: Vec<String>,
    /// The folder for the run files and their list [default: the name with the time, `.ab`]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Where the calibration is kept [default: by host and workload, in the user's cache folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) calibration: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) slots: SlotArguments,
    #[command(flatten)]
    pub(crate) reports: ReportFileArguments,
}

pub(super) const CALIBRATE_EXAMPLES: &str = "\
Examples:
  plimsoll calibrate experiment.toml              eight pairs of arm A against itself
  plimsoll calibrate plan.toml --start ./service --slot 60s
  plimsoll calibrate plan.toml --pairs 20 --calibration noise.json";
