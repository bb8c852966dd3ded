//! The arguments of `plimsoll selftest`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll selftest engine                        about half a minute, on loopback
  plimsoll selftest engine --seconds 10 --json selftest.json
  taskset -c 1 plimsoll selftest engine           on the processor that runs will use
  plimsoll selftest verdicts                      how often verdicts are wrong, by simulation
  plimsoll selftest verdicts --runs 1000 --only leak,neighbours
  plimsoll selftest experiments                   the same of `ab`, `capacity` and `diagnose`
  plimsoll selftest experiments --live same.ab    and of live pairs of a program against itself";

/// What is tested.
#[derive(Debug, Subcommand)]
pub(crate) enum SelftestPart {
    /// What the generator can do on this machine: rates, start lag, its own error
    Engine(SelftestEngineArguments),
    /// How often verdicts on simulated runs of known truth are wrong; exit code 1 where a limit is exceeded
    #[command(hide = !super::FULL)]
    Verdicts(SelftestVerdictsArguments),
    /// How often simulated experiments of known truth are decided wrongly; exit code 1 where a promise is broken
    #[command(hide = !super::FULL)]
    Experiments(SelftestExperimentsArguments),
}

#[derive(Debug, Args)]
pub(crate) struct SelftestEngineArguments {
    /// How long each rate is offered
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) seconds: u64,
    /// Write what was found as JSON too; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SelftestVerdictsArguments {
    /// Runs of each kind; fewer show less: a limit is exceeded only where chance does not explain it
    #[arg(long, value_name = "NUMBER", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) runs: u64,
    /// The seed of the first run; the next one has the next number
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Only kinds whose name contains one of these words
    #[arg(long, value_name = "WORD,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Write the figures as JSON too; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SelftestExperimentsArguments {
    /// Experiments of each kind, and services whose limit is known; fewer show less
    #[arg(long, value_name = "NUMBER", default_value_t = 2_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) experiments: u64,
    /// Capacity searches of each kind; fewer show less
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) searches: u64,
    /// The seed of the first; the next one has the next number
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Also of live pairs: the folder of an experiment in which a program was compared with itself
    #[arg(long, value_name = "DIR")]
    pub(crate) live: Option<PathBuf>,
    /// Write the figures as JSON too; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}
