//! `plimsoll run SCRIPT`, with k6's own flags.

use std::path::PathBuf;

use clap::Args;
use conduct::live_address::LiveAddress;
use k6::summary::SummaryMode;

use super::foreign::ForeignArguments;
use super::{KubernetesArguments, OutputArguments, WorkersArguments};

pub(super) const EXAMPLES: &str = "\
Examples:
  plimsoll run script.js                          run a k6 script as it is
  plimsoll run script.js -u 50 -d 2m              with 50 virtual users, for two minutes
  plimsoll run script.ts -e HOST=127.0.0.1:8000   with a variable in __ENV
  plimsoll run script.js --html report.html --summary-export summary.json";

pub(super) const EXIT_CODES: &str = "\
Exit codes, as k6 has them:
    0  every threshold held
   99  a threshold did not hold, or an objective of the policy was violated
  104  the options cannot be used
  105  ended by a signal
  107  the script threw while it was evaluated, in setup() or in teardown()
  108  the script called exec.test.abort(), 110 exec.test.fail()
  255  a flag cannot be read, or the script exports no function
and where k6 would say 0:
    1  plimsoll itself failed, or could not record the run
    5  the evidence cannot support a verdict; with --k6-exit-codes 0";

#[derive(Debug, Args)]
pub(crate) struct ScriptArguments {
    /// The script; `-` is standard input
    pub(crate) script: PathBuf,
    /// Virtual users
    #[arg(short = 'u', long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) vus: Option<i64>,
    /// How long the load lasts, such as 30s or 1m30s
    #[arg(short = 'd', long, value_name = "DURATION")]
    pub(crate) duration: Option<String>,
    /// Iterations of all virtual users together
    #[arg(short = 'i', long, value_name = "NUMBER", allow_negative_numbers = true)]
    pub(crate) iterations: Option<i64>,
    /// A stage of a ramp of virtual users; several are separated by commas
    #[arg(short = 's', long = "stage", value_name = "DURATION:TARGET")]
    pub(crate) stages: Vec<String>,
    /// A variable in __ENV
    #[arg(short = 'e', long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Whether __ENV has the variables of this process [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) include_system_env_vars: Option<bool>,
    /// A tag of every value
    #[arg(long = "tag", value_name = "NAME=VALUE")]
    pub(crate) tags: Vec<String>,
    /// A file of options, as JSON
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The part of the load that this run offers, such as 0:1/2
    #[arg(long, value_name = "FROM:TO")]
    pub(crate) execution_segment: Option<String>,
    /// All parts of the load, such as 0,1/2,1
    #[arg(long, value_name = "LIST")]
    pub(crate) execution_segment_sequence: Option<String>,
    /// Requests a second of all virtual users, at most
    #[arg(long, value_name = "NUMBER")]
    pub(crate) rps: Option<i64>,
    /// How many redirects are followed
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_redirects: Option<i64>,
    /// Send secret headers and bodies also to other origins that redirects lead to, as k6 does
    #[arg(long)]
    pub(crate) k6_redirects: bool,
    /// How many requests of a batch are in flight at once
    #[arg(long, value_name = "NUMBER")]
    pub(crate) batch: Option<i64>,
    /// How many requests of a batch are in flight at once to one host
    #[arg(long, value_name = "NUMBER")]
    pub(crate) batch_per_host: Option<i64>,
    /// The header User-Agent
    #[arg(long, value_name = "TEXT")]
    pub(crate) user_agent: Option<String>,
    /// Do not verify certificates
    #[arg(long)]
    pub(crate) insecure_skip_tls_verify: bool,
    /// Open a connection for each request
    #[arg(long)]
    pub(crate) no_connection_reuse: bool,
    /// Open connections for each iteration
    #[arg(long)]
    pub(crate) no_vu_connection_reuse: bool,
    /// Connect from these addresses of this machine: addresses, ranges and networks
    #[arg(long = "local-ips", value_name = "ADDRESSES")]
    pub(crate) local_ips: Option<String>,
    /// How long an iteration takes at least
    #[arg(long, value_name = "DURATION")]
    pub(crate) min_iteration_duration: Option<String>,
    /// Let requests that fail throw
    #[arg(short = 'w', long)]
    pub(crate) throw: bool,
    /// Do not keep bodies of responses
    #[arg(long)]
    pub(crate) discard_response_bodies: bool,
    /// Do not call setup()
    #[arg(long)]
    pub(crate) no_setup: bool,
    /// Do not call teardown()
    #[arg(long)]
    pub(crate) no_teardown: bool,
    /// Do not evaluate thresholds
    #[arg(long)]
    pub(crate) no_thresholds: bool,
    /// Nothing is ever reported: accepted and without effect
    #[arg(long, hide = true)]
    pub(crate) no_usage_report: bool,
    /// Addresses that may not be called
    #[arg(long = "blacklist-ip", value_name = "NETWORK")]
    pub(crate) blacklist_ips: Vec<String>,
    /// Names that may not be called
    #[arg(long, value_name = "PATTERN")]
    pub(crate) block_hostnames: Vec<String>,
    /// How names are looked up, such as ttl=5m,select=random,policy=preferIPv4
    #[arg(long, value_name = "TEXT")]
    pub(crate) dns: Option<String>,
    /// The tags that are set of themselves
    #[arg(long, value_name = "NAMES")]
    pub(crate) system_tags: Vec<String>,
    /// The statistics of trends in the summary, such as avg,p(99)
    #[arg(long, value_name = "NAMES")]
    pub(crate) summary_trend_stats: Vec<String>,
    /// The unit of times in the summary
    #[arg(long, value_name = "UNIT")]
    pub(crate) summary_time_unit: Option<String>,
    /// How much the summary shows: compact, full, legacy or disabled [default: compact]
    #[arg(long, value_name = "MODE", value_parser = summary_mode)]
    pub(crate) summary_mode: Option<SummaryMode>,
    /// Write the summary as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) summary_export: Option<PathBuf>,
    /// Show no summary of metrics
    #[arg(long)]
    pub(crate) no_summary: bool,
    /// Write every value to a file, such as json=values.json or csv=values.csv.gz
    #[arg(short = 'o', long, value_name = "OUTPUT")]
    pub(crate) out: Vec<String>,
    /// Let the script read files below this folder only, links included; what handleSummary() writes is not restricted
    #[arg(long, value_name = "DIR")]
    pub(crate) files_under: Option<PathBuf>,
    /// Further objectives, phases and targets that are watched, as TOML
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Read modules that are imported by URL from this folder, which is never filled by itself
    /// [default: plimsoll/imports in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) import_cache: Option<PathBuf>,
    /// Keep the evidence in this run file [default: the script's name with the time, `.plimsoll`]
    #[arg(long, value_name = "FILE")]
    pub(crate) evidence: Option<PathBuf>,
    /// Print a line before the report, by which the command that follows a run in a cluster knows it
    #[arg(long, hide = true)]
    pub(crate) mark_report: bool,
    /// Exit with k6's codes also where the evidence cannot support a verdict
    #[arg(long)]
    pub(crate) k6_exit_codes: bool,
    /// Show no progress
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Replace the run file if it is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Loops that offer the load, each on a thread of its own and with an equal share of it
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) loops: u16,
    /// Serve the report of the run so far as a page at this address while it goes on; off loopback only with the token that is
    /// printed [default: 127.0.0.1:5665, or the next port that is free]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) live: Option<LiveAddress>,
    #[command(flatten)]
    pub(crate) workers: WorkersArguments,
    #[command(flatten)]
    pub(crate) kubernetes: KubernetesArguments,
    #[command(flatten)]
    pub(crate) foreign: ForeignArguments,
    #[command(flatten)]
    pub(crate) outputs: OutputArguments,
}

fn summary_mode(text: &str) -> Result<SummaryMode, String> {
    SummaryMode::of(text).ok_or_else(|| "expected compact, full, legacy or disabled".to_owned())
}
