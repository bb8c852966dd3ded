//! Arguments of `run` about workers, and of `worker`.

use std::path::PathBuf;

use clap::Args;

pub(super) const WORKER_EXAMPLES: &str = "\
Examples:
  plimsoll run plan.toml --workers 3              three worker processes on this machine, started by the run
  plimsoll worker --make-keys run.pem             keys for one run; copy the file to each machine
  plimsoll worker --listen 0.0.0.0:7400 --keys run.pem
  plimsoll run plan.toml --worker a:7400 --worker b:7400 --worker-keys run.pem";

/// Other processes that offer the load.
#[derive(Debug, Default, Args)]
pub(crate) struct WorkersArguments {
    /// Offer the load from this many worker processes on this machine, each with --loops loops
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "addresses")]
    pub(crate) workers: Option<u16>,
    /// Offer the load from the worker at this address, with --loops loops; repeatable
    #[arg(long = "worker", value_name = "HOST:PORT")]
    pub(crate) addresses: Vec<String>,
    /// The keys of workers on other machines, as `plimsoll worker --make-keys` writes them
    #[arg(long, value_name = "FILE", requires = "addresses")]
    pub(crate) worker_keys: Option<PathBuf>,
    /// The token of workers on this machine [default: PLIMSOLL_WORKER_TOKEN in the environment]
    #[arg(long, value_name = "FILE", requires = "addresses")]
    pub(crate) worker_token_file: Option<PathBuf>,
    /// How many seconds workers have to be connected, and then to be ready
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub(crate) worker_timeout: u32,
}

impl WorkersArguments {
    /// Whether other processes are to offer the load.
    pub(crate) fn are_asked_for(&self) -> bool {
        self.workers.is_some() || !self.addresses.is_empty()
    }
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    /// Where to wait for the coordinator; other than 127.0.0.1 needs --keys
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7400")]
    pub(crate) listen: String,
    /// Keys of the run: only a coordinator with the same keys is served
    #[arg(long, value_name = "FILE", conflicts_with = "token_file")]
    pub(crate) keys: Option<PathBuf>,
    /// Token of the run, for a coordinator on this machine [default: PLIMSOLL_WORKER_TOKEN in the environment]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Write new keys for one run to this file, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["keys", "token_file"])]
    pub(crate) make_keys: Option<PathBuf>,
    /// End with the process that started this one
    #[arg(long, hide = true)]
    pub(crate) with_parent: bool,
}
