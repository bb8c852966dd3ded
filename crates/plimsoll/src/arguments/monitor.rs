//! What `plimsoll quick`, `plimsoll monitor` and `plimsoll leaks` take.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use judge::leaks::LeakMargin;
use workload::{Workload, units};

use super::ReportFileArguments;
use super::adhoc::header;

pub(crate) const MONITOR_EXAMPLES: &str = "\
Examples:
  plimsoll monitor :8000                          the process that listens on this port, with its descendants
  plimsoll monitor 1234 5678 --for 30m -o watched.plimsoll
  plimsoll monitor web=:8000 web=http://127.0.0.1:8000/metrics 'db=postgresql://me:${env.PW}@127.0.0.1/shop'
  plimsoll monitor container:web redis://127.0.0.1:6379
  plimsoll monitor --plan plan.toml               the observers of a plan, without its load";

pub(crate) const LEAKS_EXAMPLES: &str = "\
Examples:
  plimsoll leaks soak.plimsoll                    a recorded run of an hour
  plimsoll leaks soak.plimsoll --step 4MiB        also steps of 4 MiB, as arenas make them
  plimsoll leaks --for 30m :8000                  watch a process, then judge
  plimsoll leaks --for 1h web=:8000 web=http://127.0.0.1:8000/metrics

Exit codes: 0 no series shows a leak, 3 one does, 4 undecided: it grows, or the watch was too short.";

pub(crate) const QUICK_EXAMPLES: &str = "\
Examples:
  plimsoll quick http://127.0.0.1:8000/list       5 requests a second for 10 s, then a burst of 300
  plimsoll quick grpc://127.0.0.1:9090            a gRPC server, by its health service
  plimsoll quick grpc://127.0.0.1:9090/shop.Orders/List
                                                  by a call with an empty message; grpcs:// under TLS
  plimsoll quick challenge --plan plan.toml       the plan's requests to this target

Exit codes: 0 no check failed, 2 nothing answers, 3 a check failed.";

#[derive(Debug, Args)]
pub(crate) struct QuickArguments {
    /// A URL (`http`, `https`, `grpc`, `grpcs`; without a scheme `http`), or with --plan the name of a target
    pub(crate) target: String,
    /// Send the requests of this plan
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// A header, or metadata of a gRPC call, such as 'authorization: Bearer …'; repeatable
    #[arg(short = 'H', long = "header", value_name = "HEADER", value_parser = header, conflicts_with = "plan")]
    pub(crate) headers: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) reports: ReportFileArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MonitorArguments {
    /// `1234` (process), `:8000` (the process that listens there), `cgroup:PATH`, `container:NAME`, a Prometheus page's URL,
    /// `postgresql://…`, `redis://…`; with a name of its own: `NAME=TARGET`
    #[arg(value_name = "TARGET", conflicts_with = "plan")]
    pub(crate) subjects: Vec<String>,
    /// Watch the targets of this plan, with its observers
    #[arg(long, value_name = "PLAN")]
    pub(crate) plan: Option<PathBuf>,
    /// For how long, such as 30m [default: until interrupted]
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    pub(crate) length: Option<Duration>,
    /// The run file to write [default: `monitor-TARGET` with the time, `.plimsoll`]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct LeaksArguments {
    /// A run file; with --for what to watch, as `plimsoll monitor` takes it
    #[arg(required = true, value_name = "FILE|TARGET")]
    pub(crate) subjects: Vec<String>,
    /// Watch the targets for this long first, such as 30m
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    pub(crate) length: Option<Duration>,
    /// Keep the samples in this run file
    #[arg(short, long, value_name = "FILE", requires = "length")]
    pub(crate) output: Option<PathBuf>,
    /// Growth an hour that must be excluded for NO_LEAK, as a share of the level; at least 1 MiB of memory, and 5 of
    /// anything else [default: the plan's `leak_margin`, else 1%]
    #[arg(long, value_name = "SHARE", value_parser = margin)]
    pub(crate) margin: Option<f64>,
    /// Also exclude growth in steps of this size, such as 4MiB, as allocators and tables that double make them. The run must then be three
    /// times as long as growth by the margin needs for one step; a shorter one is UNDETERMINED
    #[arg(long, value_name = "SIZE", value_parser = step)]
    pub(crate) step: Option<f64>,
    #[command(flatten)]
    pub(crate) reports: ReportFileArguments,
}

impl LeaksArguments {
    /// What must be excluded in a run of this plan.
    pub(crate) fn margin_of(&self, workload: &Workload) -> LeakMargin {
        let LeakMargin { share, .. } = LeakMargin::for_workload(workload);
        LeakMargin { share: self.margin.unwrap_or(share), step_bytes: self.step }
    }
}

fn step(text: &str) -> Result<f64, String> {
    let size = units::bytes(text).filter(|size| *size > 0.0);
    size.ok_or_else(|| "expected a number of bytes above 0, such as 4MiB or 512KB".to_owned())
}

fn margin(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err("expected a share above 0%, and 100% at most, such as 1%".to_owned()),
    }
}

fn length(text: &str) -> Result<Duration, String> {
    let length = units::duration(text).map_err(|error| error.to_string())?;
    let longest = Duration::from_secs(30 * 86_400);
    if length < Duration::from_secs(1) || length > longest {
        return Err("expected a duration from 1s to 30 days".to_owned());
    }
    Ok(length)
}
