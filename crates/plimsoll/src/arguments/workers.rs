//! Arguments of `run` about workers, and of `worker`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use conduct::worker_options::{ListedWorker, WorkerOptions, WorkerPlaces};
use workload::units;

pub(super) const WORKER_EXAMPLES: &str = "\
Examples:
  plimsoll run plan.toml --workers 3              three worker processes on this machine, started by the run
  plimsoll worker --make-keys run.pem             keys for one run; copy the file to each machine
  plimsoll worker --listen 0.0.0.0:7400 --keys run.pem
  plimsoll run plan.toml --worker a:7400 --worker b:7400,weight=2 --worker-keys run.pem";

/// Other processes that offer the load.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Load from other processes and machines")]
pub(crate) struct WorkersArguments {
    /// Offer the load from this many local processes
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with = "addresses")]
    pub(crate) workers: Option<u16>,
    /// Offer the load from the worker at this address; repeatable
    ///
    /// With `,weight=2` it offers twice as much as one without a weight.
    #[arg(long = "worker", value_name = "HOST:PORT[,weight=N]", value_parser = asked_worker)]
    pub(crate) addresses: Vec<ListedWorker>,
    /// The keys of workers on other machines, as `plimsoll worker --make-keys` writes them
    #[arg(long, value_name = "FILE", requires = "addresses", hide_short_help = true)]
    pub(crate) worker_keys: Option<PathBuf>,
    /// The token of workers on this machine [default: PLIMSOLL_WORKER_TOKEN in the environment]
    #[arg(long, value_name = "FILE", requires = "addresses", hide_short_help = true)]
    pub(crate) worker_token_file: Option<PathBuf>,
    /// Time limit for connecting the workers, and again for their readiness
    #[arg(long, hide_short_help = true, value_name = "DURATION", default_value = "60s", value_parser = patience, allow_hyphen_values = true)]
    pub(crate) worker_timeout: Duration,
}

impl WorkersArguments {
    /// The processes that are to offer the load, if this one is not.
    pub(crate) fn asked(&self) -> Option<WorkerOptions> {
        let places = match (self.workers, &self.addresses[..]) {
            (Some(count), _) => WorkerPlaces::Here(count),
            (None, []) => return None,
            (None, workers) => WorkerPlaces::At {
                workers: workers.to_vec(),
                keys: self.worker_keys.clone(),
                token_file: self.worker_token_file.clone(),
            },
        };
        Some(WorkerOptions { places, patience: self.worker_timeout })
    }
}

/// How long workers may be waited for.
const PATIENCE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3_600);

fn patience(text: &str) -> anyhow::Result<Duration> {
    let patience = units::duration(text).map_err(anyhow::Error::msg)?;
    if !PATIENCE.contains(&patience) {
        bail!("workers are waited for from 1s to 1h");
    }
    Ok(patience)
}

/// The most times that a worker offers what others do.
const MOST_WEIGHT: u16 = 64;

fn asked_worker(text: &str) -> anyhow::Result<ListedWorker> {
    let (address, option) = text.split_once(',').unwrap_or((text, "weight=1"));
    let Some(weight) = option.strip_prefix("weight=") else {
        bail!("`{option}` is not known: the address is followed by `,weight=N` at most");
    };
    require_port(address)?;
    let weight = weight.parse().ok().filter(|weight| (1..=MOST_WEIGHT).contains(weight));
    let weight = weight.with_context(|| format!("a weight is a whole number from 1 to {MOST_WEIGHT}"))?;
    Ok(ListedWorker { address: address.to_owned(), weight })
}

fn require_port(address: &str) -> anyhow::Result<()> {
    let port = address.rsplit_once(':').and_then(|(host, port)| {
        let is_host = !host.is_empty() && (!host.contains(':') || host.ends_with(']'));
        port.parse::<u16>().ok().filter(|_| is_host)
    });
    let is_port = !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_digit());
    let example = match address.contains(':') {
        _ if is_port => format!("127.0.0.1:{address}"),
        false if !address.is_empty() => format!("{address}:7400"),
        _ => "127.0.0.1:7400".to_owned(),
    };
    port.map(drop).with_context(|| format!("`{address}` is not HOST:PORT, such as `{example}`"))
}

fn listened_at(text: &str) -> anyhow::Result<String> {
    require_port(text).map(|()| text.to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    /// Where to wait for the coordinator; other than 127.0.0.1 needs --keys
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7400", value_parser = listened_at)]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_for_workers_is_a_duration_within_an_hour() {
        assert_eq!(patience("3s").unwrap(), Duration::from_secs(3));
        assert_eq!(patience("1m30s").unwrap(), Duration::from_secs(90));
        let wrong = |text: &str| patience(text).unwrap_err().to_string();
        assert!(wrong("3").contains("write `3s`"), "{}", wrong("3"));
        for out_of_range in ["0s", "500ms", "2h"] {
            assert_eq!(wrong(out_of_range), "workers are waited for from 1s to 1h");
        }
    }

    #[test]
    fn a_worker_has_an_address_and_may_have_a_weight() {
        let of = |address: &str, weight| ListedWorker { address: address.to_owned(), weight };
        assert_eq!(asked_worker("a:7400").unwrap(), of("a:7400", 1));
        assert_eq!(asked_worker("[::1]:7400,weight=3").unwrap(), of("[::1]:7400", 3));
        for wrong in ["a:7400,weight=0", "a:7400,weight=65", "a:7400,weight=1.5", "a:7400,weight="] {
            assert!(
                asked_worker(wrong).unwrap_err().to_string().contains("whole number from 1 to 64"),
                "{wrong}"
            );
        }
        let no_port = |address: &str| asked_worker(address).unwrap_err().to_string();
        assert_eq!(no_port("10.0.0.7"), "`10.0.0.7` is not HOST:PORT, such as `10.0.0.7:7400`");
        assert_eq!(no_port("9310"), "`9310` is not HOST:PORT, such as `127.0.0.1:9310`");
        for wrong in ["a:", ":7400", "::1", "a:99999", "", ",weight=2"] {
            assert!(no_port(wrong).ends_with("such as `127.0.0.1:7400`"), "{wrong}");
        }
        assert!(
            asked_worker("a:7400,share=2").unwrap_err().to_string().starts_with("`share=2` is not known")
        );
    }
}
