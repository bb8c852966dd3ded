//! `plimsoll run SCRIPT`, with k6's own flags.

use std::path::PathBuf;

use clap::Args;
use conduct::live_address::LiveAddress;
use k6::summary::SummaryMode;

use super::foreign::ForeignArguments;
use super::{KubernetesArguments, OutputArguments, WorkersArguments};

/// What `check SCRIPT` becomes.
pub(super) const CHECK_FLAG: &str = "check-script";

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
and of Plimsoll:
    1  Plimsoll itself failed, or could not record the run
    3  k6 would say 0, but nothing succeeded
    5  k6 would say 0, but the evidence cannot support a verdict; or a worker was lost
    --k6-exit-codes gives k6's code instead of 3 and 5";

#[derive(Debug, Args)]
pub(crate) struct ScriptArguments {
    /// The script; `-` is standard input
    pub(crate) script: PathBuf,
    /// One iteration of each scenario, and every exchange shown, instead of the script's load
    #[arg(long, conflicts_with_all = ["vus", "duration", "iterations", "stages", "execution_segment"], help_heading = "Load")]
    pub(crate) once: bool,
    /// The scenarios that run, instead of all; several are separated by commas
    #[arg(long = "scenario", value_name = "NAMES", conflicts_with_all = ["vus", "duration", "iterations", "stages"], help_heading = "Load")]
    pub(crate) scenarios: Vec<String>,
    /// `plimsoll check SCRIPT`: nothing is sent
    #[arg(long = CHECK_FLAG, hide = true)]
    pub(crate) is_checked: bool,
    /// Virtual users
    #[arg(short = 'u', long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "Load")]
    pub(crate) vus: Option<i64>,
    /// Duration of the load, such as 30s or 1m30s
    #[arg(short = 'd', long, value_name = "DURATION", help_heading = "Load")]
    pub(crate) duration: Option<String>,
    /// Iterations of all virtual users together
    #[arg(short = 'i', long, value_name = "NUMBER", allow_negative_numbers = true, help_heading = "Load")]
    pub(crate) iterations: Option<i64>,
    /// A stage of a ramp of virtual users; several are separated by commas
    #[arg(short = 's', long = "stage", value_name = "DURATION:TARGET", help_heading = "Load")]
    pub(crate) stages: Vec<String>,
    /// A variable in __ENV
    #[arg(short = 'e', long, value_name = "NAME=VALUE", help_heading = "Script")]
    pub(crate) env: Vec<String>,
    /// Pass the environment variables of this process to __ENV [default: true]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", help_heading = "Script", hide_short_help = true)]
    pub(crate) include_system_env_vars: Option<bool>,
    /// A tag of every value
    #[arg(long = "tag", value_name = "NAME=VALUE", help_heading = "Script", hide_short_help = true)]
    pub(crate) tags: Vec<String>,
    /// A file of options, as JSON
    #[arg(short = 'c', long, value_name = "FILE", help_heading = "Script", hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
    /// The part of the load that this run offers, such as 0:1/2
    #[arg(long, value_name = "FROM:TO", help_heading = "Load", hide_short_help = true)]
    pub(crate) execution_segment: Option<String>,
    /// All parts of the load, such as 0,1/2,1
    #[arg(long, value_name = "LIST", help_heading = "Load", hide_short_help = true)]
    pub(crate) execution_segment_sequence: Option<String>,
    /// Maximum requests a second, over all virtual users
    #[arg(long, value_name = "NUMBER", help_heading = "Load", hide_short_help = true)]
    pub(crate) rps: Option<i64>,
    /// Maximum number of redirects to follow
    #[arg(long, value_name = "NUMBER", help_heading = "Requests", hide_short_help = true)]
    pub(crate) max_redirects: Option<i64>,
    /// Send secret headers and bodies to other origins when a redirect leads there, as k6 does
    #[arg(long, help_heading = "Requests", hide_short_help = true)]
    pub(crate) k6_redirects: bool,
    /// Maximum requests of a batch in flight
    #[arg(long, value_name = "NUMBER", help_heading = "Requests", hide_short_help = true)]
    pub(crate) batch: Option<i64>,
    /// Maximum requests of a batch in flight to one host
    #[arg(long, value_name = "NUMBER", help_heading = "Requests", hide_short_help = true)]
    pub(crate) batch_per_host: Option<i64>,
    /// The header User-Agent
    #[arg(long, value_name = "TEXT", help_heading = "Requests", hide_short_help = true)]
    pub(crate) user_agent: Option<String>,
    /// Do not verify certificates
    #[arg(long, help_heading = "Requests")]
    pub(crate) insecure_skip_tls_verify: bool,
    /// Open a connection for each request
    #[arg(long, help_heading = "Requests", hide_short_help = true)]
    pub(crate) no_connection_reuse: bool,
    /// Open connections for each iteration
    #[arg(long, help_heading = "Requests", hide_short_help = true)]
    pub(crate) no_vu_connection_reuse: bool,
    /// Local addresses to connect from: addresses, ranges and networks
    #[arg(long = "local-ips", value_name = "ADDRESSES", help_heading = "Requests", hide_short_help = true)]
    pub(crate) local_ips: Option<String>,
    /// Minimum duration of an iteration
    #[arg(long, value_name = "DURATION", help_heading = "Load", hide_short_help = true)]
    pub(crate) min_iteration_duration: Option<String>,
    /// Throw an exception when a request fails
    #[arg(short = 'w', long, help_heading = "Script", hide_short_help = true)]
    pub(crate) throw: bool,
    /// Do not keep bodies of responses
    #[arg(long, help_heading = "Requests", hide_short_help = true)]
    pub(crate) discard_response_bodies: bool,
    /// Do not call setup()
    #[arg(long, help_heading = "Load", hide_short_help = true)]
    pub(crate) no_setup: bool,
    /// Do not call teardown()
    #[arg(long, help_heading = "Load", hide_short_help = true)]
    pub(crate) no_teardown: bool,
    /// Do not evaluate thresholds
    #[arg(long, help_heading = "Load", hide_short_help = true)]
    pub(crate) no_thresholds: bool,
    /// Flags that were given as false, such as --throw=false
    #[arg(long, hide = true)]
    pub(crate) given_as_false: Vec<String>,
    /// Nothing is ever reported: accepted and without effect
    #[arg(long, hide = true)]
    pub(crate) no_usage_report: bool,
    /// Addresses that requests must not reach
    #[arg(long = "blacklist-ip", value_name = "NETWORK", help_heading = "Requests", hide_short_help = true)]
    pub(crate) blacklist_ips: Vec<String>,
    /// Host names that requests must not reach
    #[arg(long, value_name = "PATTERN", help_heading = "Requests", hide_short_help = true)]
    pub(crate) block_hostnames: Vec<String>,
    /// DNS options, such as ttl=5m,select=random,policy=preferIPv4
    #[arg(long, value_name = "TEXT", help_heading = "Requests", hide_short_help = true)]
    pub(crate) dns: Option<String>,
    /// System tags to set
    #[arg(long, value_name = "NAMES", help_heading = "Script", hide_short_help = true)]
    pub(crate) system_tags: Vec<String>,
    /// The statistics of trends in the summary, such as avg,p(99)
    #[arg(long, value_name = "NAMES", help_heading = "k6 summary and outputs", hide_short_help = true)]
    pub(crate) summary_trend_stats: Vec<String>,
    /// The unit of times in the summary
    #[arg(long, value_name = "UNIT", help_heading = "k6 summary and outputs", hide_short_help = true)]
    pub(crate) summary_time_unit: Option<String>,
    /// How much the summary shows: compact, full, legacy or disabled [default: compact]
    #[arg(long, value_name = "MODE", value_parser = summary_mode, help_heading = "k6 summary and outputs")]
    pub(crate) summary_mode: Option<SummaryMode>,
    /// Write the summary as JSON
    #[arg(long, value_name = "FILE", help_heading = "k6 summary and outputs")]
    pub(crate) summary_export: Option<PathBuf>,
    /// Show no summary of metrics
    #[arg(long, help_heading = "k6 summary and outputs")]
    pub(crate) no_summary: bool,
    /// Write every value to a file, such as json=values.json or csv=values.csv.gz
    #[arg(short = 'o', long, value_name = "OUTPUT", help_heading = "k6 summary and outputs")]
    pub(crate) out: Vec<String>,
    /// Let the script read files below this folder only, links included; what handleSummary() writes is not restricted
    #[arg(long, value_name = "DIR", help_heading = "Script", hide_short_help = true)]
    pub(crate) files_under: Option<PathBuf>,
    /// Further objectives, phases and targets that are watched, as TOML
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub(crate) policy: Option<PathBuf>,
    /// Read modules that are imported by URL from this folder, which is never filled by itself
    /// [default: plimsoll/imports in the user's cache]
    #[arg(long, value_name = "DIR", help_heading = "Script", hide_short_help = true)]
    pub(crate) import_cache: Option<PathBuf>,
    /// Keep the evidence in this run file [default: the script's name with the time, `.plimsoll`]
    #[arg(long, value_name = "FILE", help_heading = "k6 summary and outputs")]
    pub(crate) evidence: Option<PathBuf>,
    /// Keep no run file: the evidence is deleted after the verdict
    #[arg(long, help_heading = "k6 summary and outputs", conflicts_with_all = ["evidence", "force", "kubernetes"], hide_short_help = true)]
    pub(crate) no_evidence: bool,
    /// Print a line before the report, by which the command that follows a run in a cluster knows it
    #[arg(long, hide = true)]
    pub(crate) mark_report: bool,
    /// Exit with k6's codes also where the evidence cannot support a verdict
    #[arg(long, help_heading = "k6 summary and outputs", hide_short_help = true)]
    pub(crate) k6_exit_codes: bool,
    /// Show no progress
    #[arg(short, long, help_heading = "k6 summary and outputs")]
    pub(crate) quiet: bool,
    /// Replace the run file if it exists
    #[arg(long, help_heading = "k6 summary and outputs")]
    pub(crate) force: bool,
    /// Loops that offer the load, each on a thread of its own and with an equal share of it
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Load", hide_short_help = true)]
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
    pub(crate) log: LogArguments,
    #[command(flatten)]
    pub(crate) foreign: ForeignArguments,
    #[command(flatten)]
    pub(crate) outputs: OutputArguments,
}

fn summary_mode(text: &str) -> Result<SummaryMode, String> {
    SummaryMode::from_name(text).ok_or_else(|| "expected compact, full, legacy or disabled".to_owned())
}

/// Where the lines of `console`, and of what failed, go.
#[derive(Debug, Args)]
pub(crate) struct LogArguments {
    /// Where the log goes: stderr, stdout, none or file=PATH[,level=NAME]
    #[arg(long, value_name = "PLACE", help_heading = "Script", hide_short_help = true)]
    pub(crate) log_output: Option<String>,
    /// The form of its lines: text, json or raw
    #[arg(long, value_name = "FORMAT", help_heading = "Script", hide_short_help = true)]
    pub(crate) log_format: Option<String>,
    /// The file to which the lines of `console` are appended, instead of the log
    #[arg(long, value_name = "FILE", help_heading = "Script", hide_short_help = true)]
    pub(crate) console_output: Option<String>,
}
