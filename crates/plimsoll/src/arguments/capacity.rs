//! The arguments of `plimsoll capacity`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::SessionArguments;
use super::session::longer_than_0;

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll capacity http://127.0.0.1:8000/ --objective 'p95 < 50ms'
  plimsoll capacity experiment.toml
  plimsoll capacity plan.toml --start ./service --objective 'p95(list) < 50ms'
  plimsoll capacity plan.toml --running --objective 'p95(list) < 50ms' --objective 'error_rate(all) < 0.1%'
  plimsoll capacity plan.toml --start './service --threads ${level}' --objective 'p95(list) < 50ms' --better higher --to 32
  plimsoll capacity plan.toml --start ./service --objective 'p95(list) < 50ms' --at-least 300/s --junit capacity.xml
  plimsoll capacity experiment.toml --hold 10m --overload 60s
  plimsoll capacity experiment.toml --resume experiment-2026-03-01T10-00-00Z.capacity
  plimsoll capacity --judge experiment-2026-03-01T10-00-00Z.capacity --html capacity.html";

/// What is searched, and where it is reported.
#[derive(Debug, Args)]
pub(crate) struct CapacityArguments {
    /// The experiment file, a plan with --start or --running, or a URL of what runs already
    #[arg(value_name = "FILE|URL", required_unless_present = "judge", conflicts_with = "judge")]
    pub(crate) file: Option<PathBuf>,
    /// Objective that must be met, such as `p95(list) < 50ms`; repeatable [default: the file's `[slo]`, or the plan's objectives]
    #[arg(long = "objective", alias = "slo", value_name = "OBJECTIVE")]
    pub(crate) objectives: Vec<String>,
    /// The command that starts the target, with a plan; run by sh. `${level}` in it is a number that is searched
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["running", "judge"])]
    pub(crate) start: Option<String>,
    /// The plan's targets are already running
    #[arg(long, conflicts_with = "judge")]
    pub(crate) running: bool,
    /// With --start: the URL that answers 2xx once it is ready
    #[arg(long, value_name = "URL", requires = "start")]
    pub(crate) ready: Option<String>,
    /// With --start or --running: the command that sets the state back before each probe
    #[arg(long, value_name = "COMMAND")]
    pub(crate) reset: Option<String>,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
    #[command(flatten)]
    pub(crate) session: SessionArguments,
}

/// How it is searched, instead of the file's `[search]`.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// The lowest level [default: a twentieth of the plan's]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) from: Option<f64>,
    /// The highest level [default: what the generator can sustain]
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) to: Option<f64>,
    /// The level that must hold: PASS or FAIL instead of MEASURED
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) at_least: Option<f64>,
    /// With `${level}`: whether a higher or a lower number is easier [default: lower]
    #[arg(long, value_name = "WHICH", value_enum)]
    pub(crate) better: Option<BetterNumber>,
    /// The time under load of each probe [default: what the objectives need, at least 20s]
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    pub(crate) step: Option<Duration>,
    /// How long the load that was found is then offered, to confirm it, such as 10m [default: 0s, not at all]
    #[arg(long, value_name = "DURATION", value_parser = workload::units::duration)]
    pub(crate) hold: Option<Duration>,
    /// Duration of each overload, such as 60s: what happens beyond the capacity [default: 0s, none]
    #[arg(long, value_name = "DURATION", value_parser = workload::units::duration)]
    pub(crate) overload: Option<Duration>,
    /// Number of levels to probe around the answer [default: 7]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(5..=15))]
    pub(crate) levels: Option<u32>,
    /// Number of probes of each level; the three nearest the answer get three times as many [default: 2]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(2..=10))]
    pub(crate) repeats: Option<u32>,
    /// Time limit of the whole search
    #[arg(long, value_name = "DURATION", value_parser = longer_than_0)]
    pub(crate) budget: Option<Duration>,
    /// Seed of the order of probes and of the load
    #[arg(long, value_name = "NUMBER")]
    pub(crate) seed: Option<u64>,
}

/// Which numbers make the objectives easier to meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BetterNumber {
    /// Fewer are easier, such as tenants
    Lower,
    /// More are easier, such as threads
    Higher,
}

/// A rate such as `300/s`, or a number.
fn level(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().or_else(|_| workload::units::rate(text))?;
    match number.is_finite() && number > 0.0 {
        true => Ok(number),
        false => Err("expected a level above 0, such as 300/s or 64".to_owned()),
    }
}
