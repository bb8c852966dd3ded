//! The command line.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand};
use conduct::live_address::LiveAddress;
use conduct::run_request::OutTarget;
use plans::Overrides;

mod ab;
mod adhoc;
#[cfg(feature = "scripts")]
mod boolean_flags;
mod capacity;
mod compare;
mod connect;
mod diagnose;
#[cfg(feature = "scripts")]
mod fetch_imports;
#[cfg(feature = "scripts")]
mod foreign;
#[cfg(feature = "full")]
mod generate;
mod groups;
#[cfg(feature = "full")]
mod import;
#[cfg(feature = "scripts")]
mod k6_variables;
mod kubernetes;
#[cfg(not(feature = "full"))]
mod lean;
mod monitor;
mod new;
mod other_tools;
mod out;
mod parse;
#[cfg(feature = "scripts")]
mod pod_flags;
mod profile;
mod reports;
#[cfg(feature = "scripts")]
mod script;
#[cfg(not(feature = "scripts"))]
#[path = "arguments/without_scripts.rs"]
mod script;
#[cfg(feature = "scripts")]
mod script_manifest;
mod selftest;
mod session;
mod topics;
mod verbs;
mod workers;

pub(crate) use ab::{AbArguments, CalibrateArguments};
pub(crate) use adhoc::{GrpcArguments, HttpArguments, KeepArguments, PaceArguments, RequestArguments};
pub(crate) use capacity::{BetterNumber, CapacityArguments, SearchArguments};
pub(crate) use compare::CompareArguments;
pub(crate) use connect::ConnectArguments;
pub(crate) use diagnose::DiagnoseArguments;
#[cfg(feature = "scripts")]
pub(crate) use fetch_imports::FetchImportsArguments;
#[cfg(feature = "full")]
pub(crate) use generate::command;
pub(crate) use generate::{CompletionsArguments, ManArguments};
#[cfg(feature = "full")]
pub(crate) use groups::verbs;
pub(crate) use import::ImportArguments;
#[cfg(feature = "scripts")]
pub(crate) use k6_variables::without_effect;
pub(crate) use kubernetes::{
    ClusterArguments, FetchArguments, FilesPlace, KubernetesArguments, ManifestArguments, PodPart,
    PodsArguments,
};
#[cfg(not(feature = "full"))]
use lean::{generate, import};
pub(crate) use monitor::{LeaksArguments, MonitorArguments, QuickArguments};
pub(crate) use new::NewArguments;
pub(crate) use parse::{Unusable, is_script, parse};
pub(crate) use profile::{ProfileArguments, SortBy};
pub(crate) use reports::{OnInconclusive, OutputArguments, ReportFileArguments, VerdictOutputArguments};
#[cfg(feature = "scripts")]
pub(crate) use script::LogArguments;
pub(crate) use script::ScriptArguments;
#[cfg(feature = "scripts")]
pub(crate) use script_manifest::ScriptManifestArguments;
pub(crate) use selftest::{
    SelftestEngineArguments, SelftestExperimentsArguments, SelftestPart, SelftestVerdictsArguments,
};
pub(crate) use session::{SessionArguments, SlotArguments};
pub(crate) use topics::blocks::{MarkdownBlock, blocks};
pub(crate) use topics::{TOPICS, about, called, topic};
pub(crate) use verbs::SCRIPT_VERB;
pub(crate) use workers::{WorkerArguments, WorkersArguments};

/// The heading of options about what a run leaves behind.
const RESULTS: &str = "Evidence and reports";

/// What `--version` prints after the name: with the commit where the build names it, and what was left out.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("PLIMSOLL_COMMIT").map(|commit| format!(" ({commit})")).unwrap_or_default();
    let left_out = match (cfg!(feature = "scripts"), FULL) {
        (true, _) => "",
        (false, true) => " (built without k6 scripts)",
        (false, false) => {
            " (built without k6 scripts, TLS, observers of PostgreSQL and Redis, imports, drafts, workers, Kubernetes, \
             simulated runs, live outputs, manual pages and completions)"
        }
    };
    format!("{}{commit}{left_out}", env!("CARGO_PKG_VERSION"))
});

/// Whether the program was built with the feature `full`; without it the verbs that it lacks are not listed.
const FULL: bool = cfg!(feature = "full");

const EXIT_CODES: &str = "\
Exit codes:
  0  PASS, or MEASURED where there was no objective
  1  plimsoll itself failed, or could not record the run
  2  the input cannot be used, or the target was not ready at the start
  3  FAIL: an objective was violated, or nothing succeeded
  4  INCONCLUSIVE: the evidence is sound but too little to decide
  5  INVALID: the evidence cannot support a verdict";

/// What is said of them besides, where a load may be offered that is a script's.
const OF_SCRIPTS: &str = "
A k6 script has k6's exit codes: 99 where a threshold is crossed, 0 if INCONCLUSIVE (`plimsoll run script.js --help`).";

/// The same where a load is offered.
const OF_INTERRUPTS: &str = "
An interrupt before the load ends the command by that signal (130 in a shell), with nothing recorded.";

const USAGE: &str = "plimsoll <COMMAND> [OPTIONS]\n       plimsoll <URL> [OPTIONS]";

const FIRST_COMMANDS: &str = "\
First commands:
  plimsoll http://127.0.0.1:8000/                 200 requests, 50 at a time
  plimsoll http://127.0.0.1:8000/ -r 300 -z 30s --objective 'p95 < 50ms'
  plimsoll new openapi.yaml                       a plan to begin with; then `check`, `run`
  plimsoll run script.js                          a k6 script, unmodified";

/// Of the help that fits a screen.
const RUN_FIRST_EXAMPLES: &str = "\
Examples:
  plimsoll run plan.toml --once                   send each step once and show every exchange
  plimsoll run plan.toml -o today.plimsoll --html today.html
  plimsoll run script.js                          run a k6 script; its options: `plimsoll run script.js -h`
`plimsoll run --help` describes all options: workers, pods of Kubernetes, exit codes.";

const RUN_EXAMPLES: &str = "\
Examples:
  plimsoll run plan.toml                          offer the load, judge it, keep the evidence
  plimsoll run plan.toml --once                   send each step once and show every exchange
  plimsoll run plan.toml --time-scale 0.1         try it in a tenth of the time
  plimsoll run plan.toml --target api=http://127.0.0.1:9000/v1
  plimsoll run plan.toml --live                   watch the report in a browser while it goes on
  plimsoll run plan.toml -o today.plimsoll --html today.html --junit today.xml
  plimsoll run plan.toml --kubernetes 5 --image registry.example/plimsoll:0.1.0
  plimsoll run script.js                          run a k6 script; `plimsoll run script.js --help` lists k6's flags";

const CHECK_EXAMPLES: &str = "\
Examples:
  plimsoll check plan.toml                        is it valid, and what would it offer?
  plimsoll check plan.toml --load 2               what would twice the load be?";

const REPORT_EXAMPLES: &str = "\
Examples:
  plimsoll report demo.plimsoll                   the summary again, by the rules of today
  plimsoll report demo.plimsoll --html demo.html --md demo.md
  plimsoll report demo.plimsoll --json - | jq .verdict";

const EXPORT_EXAMPLES: &str = "\
Examples:
  plimsoll export demo.plimsoll --csv demo        tables: the whole run, second by second, what was watched
  plimsoll export demo.plimsoll --openmetrics demo.om --hdr demo.hlog
  plimsoll export demo.plimsoll --profiles profiles
  go tool pprof -top profiles/challenge-cpu-15m.pb.gz
  go tool pprof -base profiles/challenge-heap-15m-begin.pb.gz profiles/challenge-heap-15m.pb.gz";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  plimsoll explain                                list all rules
  plimsoll explain L1                             what it tests, why it matters, what to do
  plimsoll explain offered-load-not-reached       the same, by its title";

/// Load tests HTTP and gRPC services at the rate you ask for, and answers PASS, FAIL, or why the measurement can't be trusted
#[derive(Debug, Parser)]
#[command(
    version = VERSION.as_str(),
    after_help = FIRST_COMMANDS.to_owned() + "\n\n" + EXIT_CODES + OF_SCRIPTS + OF_INTERRUPTS,
    max_term_width = 100,
    override_usage = USAGE
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Write a plan to begin with: from a URL, an OpenAPI description, a recording of a browser (HAR) or a curl command
    #[command(hide = !FULL, after_help = new::EXAMPLES)]
    New(NewArguments),
    /// Offer the load of a plan or a k6 script, judge what was seen, and keep the evidence in one file
    #[command(
        after_help = RUN_FIRST_EXAMPLES,
        after_long_help = RUN_EXAMPLES.to_owned() + "\n\n" + EXIT_CODES + OF_SCRIPTS + OF_INTERRUPTS
    )]
    Run(Box<RunArguments>),
    /// Run a k6 script, judge what was seen, and keep the evidence in one file
    #[command(
        name = verbs::SCRIPT_VERB,
        hide = true,
        override_usage = "plimsoll run [OPTIONS] <SCRIPT>",
        after_help = script::EXAMPLES,
        after_long_help = script::EXAMPLES.to_owned() + "\n\n" + script::EXIT_CODES
    )]
    Script(Box<ScriptArguments>),
    /// Load an HTTP URL without a plan: one request, repeated; `plimsoll URL` is the same
    #[command(
        after_help = adhoc::HTTP_EXAMPLES,
        after_long_help = adhoc::HTTP_EXAMPLES.to_owned() + "\n\n" + EXIT_CODES + OF_INTERRUPTS
    )]
    Http(Box<HttpArguments>),
    /// Load a gRPC method without a plan: one call, repeated
    #[command(
        after_help = adhoc::GRPC_EXAMPLES,
        after_long_help = adhoc::GRPC_EXAMPLES.to_owned() + "\n\n" + EXIT_CODES + OF_INTERRUPTS
    )]
    Grpc(Box<GrpcArguments>),
    /// Offer a part of a run's load for a coordinator: `plimsoll run PLAN --worker HOST:PORT`
    #[command(hide = !FULL, after_help = workers::WORKER_EXAMPLES)]
    Worker(WorkerArguments),
    /// Print the Kubernetes objects of a run as YAML, to keep in Git: Job, Service, ConfigMap, NetworkPolicy
    #[command(hide = !FULL, after_help = kubernetes::MANIFEST_EXAMPLES)]
    Manifest(Box<ManifestArguments>),
    /// Print a run of a k6 script over pods of a Kubernetes cluster as YAML
    #[cfg(feature = "scripts")]
    #[command(
        name = verbs::SCRIPT_MANIFEST_VERB,
        hide = true,
        override_usage = "plimsoll manifest [OPTIONS] <SCRIPT>",
        after_help = kubernetes::MANIFEST_EXAMPLES
    )]
    ManifestOfScript(Box<ScriptManifestArguments>),
    /// Fetch the file of a run in a Kubernetes cluster when it has ended, and judge it
    #[command(
        hide = !FULL,
        after_help = kubernetes::FETCH_EXAMPLES,
        after_long_help = kubernetes::FETCH_EXAMPLES.to_owned() + "\n\n" + EXIT_CODES
    )]
    Fetch(Box<FetchArguments>),
    /// Fetch the modules that a k6 script imports by URL, and lock what they are
    #[cfg(feature = "scripts")]
    #[command(after_help = fetch_imports::EXAMPLES)]
    FetchImports(FetchImportsArguments),
    /// What runs inside the pods of such a run
    #[command(subcommand, hide = true)]
    Pod(PodPart),
    /// Validate a plan and print what would be offered, second by second, without sending anything
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Judge a run file again and render its reports
    #[command(after_help = REPORT_EXAMPLES, after_long_help = REPORT_EXAMPLES.to_owned() + "\n\n" + EXIT_CODES)]
    Report(ReportArguments),
    /// Compare run files, and check whether they are comparable
    #[command(after_help = compare::EXAMPLES)]
    Compare(CompareArguments),
    /// Compare two versions: pairs of runs in random order, until it is decided whether B is worse than A
    #[command(after_help = ab::EXAMPLES, after_long_help = ab::EXAMPLES.to_owned() + "\n\n" + EXIT_CODES)]
    Ab(Box<AbArguments>),
    /// Find the highest load at which objectives hold, with its interval, and what happens beyond it
    #[command(after_help = capacity::EXAMPLES, after_long_help = capacity::EXAMPLES.to_owned() + "\n\n" + EXIT_CODES)]
    Capacity(Box<CapacityArguments>),
    /// Find what limits a service: the processors, a pool, or UNDETERMINED and what to observe
    #[command(after_help = diagnose::EXAMPLES)]
    Diagnose(Box<DiagnoseArguments>),
    /// Measure how much runs of the same program differ on this host, and which change `ab` could detect in 10, 20, 60 or 90 minutes
    #[command(after_help = ab::CALIBRATE_EXAMPLES)]
    Calibrate(Box<CalibrateArguments>),
    /// Write parts of a run file in the formats that other tools read
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArguments),
    /// Show a pprof profile: functions, call tree, flame graph; or what changed between two
    #[command(after_help = profile::PROFILE_EXAMPLES)]
    Profile(Box<ProfileArguments>),
    /// Convert results of k6, JMeter, Gatling, Locust, ghz, vegeta, oha or an HdrHistogram log to a run file, and judge it
    #[command(
        hide = !FULL,
        after_help = import::EXAMPLES,
        after_long_help = import::EXAMPLES.to_owned() + "\n\n" + EXIT_CODES
    )]
    Import(ImportArguments),
    /// Check within a minute whether a target is fit for a load test
    #[command(after_help = monitor::QUICK_EXAMPLES)]
    Quick(QuickArguments),
    /// Watch processes without any load, a line a second
    #[command(after_help = monitor::MONITOR_EXAMPLES)]
    Monitor(MonitorArguments),
    /// Check whether a target leaks memory, threads, descriptors or connections
    #[command(after_help = monitor::LEAKS_EXAMPLES)]
    Leaks(LeaksArguments),
    /// Explain a validity rule, or list them all
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),
    /// Test Plimsoll itself: what its generator can do on this machine, how often its verdicts are wrong
    #[command(subcommand, after_help = selftest::EXAMPLES)]
    Selftest(SelftestPart),
    /// Print what a shell reads to complete the command line
    #[command(hide = !FULL, after_help = generate::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArguments),
    /// Print a manual page, or write them all
    #[command(hide = !FULL, after_help = generate::MAN_EXAMPLES)]
    Man(ManArguments),
}

/// Changes to a plan without editing it.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct OverrideArguments {
    /// Address of a target instead of the plan's
    ///
    /// A URL for HTTP, HOST:PORT for gRPC.
    #[arg(long = "target", value_name = "NAME=ADDRESS", value_parser = pair)]
    pub(crate) targets: Vec<(String, String)>,
    /// Multiply every duration of the plan
    ///
    /// Rates, time limits and think times stay as they are.
    #[arg(long, value_name = "FACTOR", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) time_scale: Option<f64>,
    /// Multiply every rate and every number of virtual users
    #[arg(long, value_name = "FACTOR", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) load: Option<f64>,
    /// Seed of every random choice
    #[arg(long, value_name = "NUMBER", hide_short_help = true)]
    pub(crate) seed: Option<u64>,
    /// End the run as soon as it is decided
    ///
    /// The run is also judged after 25, 50 and 75 % of the planned time, from 60 s on, each time with a confidence of 98.1 %
    /// instead of 95 %. It ends when every objective has passed twice in a row, or when one is violated.
    #[arg(long)]
    pub(crate) until_decided: bool,
    /// End the run as soon as an objective is violated so far
    ///
    /// Applies to objectives on times, failures and checks, as `abort_on = "fail"` does in a plan.
    #[arg(long)]
    pub(crate) abort_on_fail: bool,
}

impl OverrideArguments {
    /// The changes as reading a plan takes them.
    pub(crate) fn overrides(&self) -> Overrides {
        Overrides {
            targets: self.targets.iter().cloned().collect(),
            time_scale: self.time_scale,
            load: self.load,
            seed: self.seed,
            until_decided: self.until_decided,
            abort_on_fail: self.abort_on_fail,
        }
    }
}

/// Which parts of a run file are written where.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("part").required(true).multiple(true))]
pub(crate) struct ExportArguments {
    /// The run file
    pub(crate) file: PathBuf,
    /// Write tables to this folder: summary.csv, seconds.csv, counts.csv, series.csv
    #[arg(long, value_name = "DIR", group = "part")]
    pub(crate) csv: Option<PathBuf>,
    /// Write OpenMetrics text with timestamps, for `promtool tsdb create-blocks-from openmetrics`; `-` is standard output
    #[arg(long, value_name = "FILE", group = "part")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// Write response times as an interval log of HdrHistogram, in microseconds; `-` is standard output
    #[arg(long, value_name = "FILE", group = "part")]
    pub(crate) hdr: Option<PathBuf>,
    /// Write every profile to this folder, as it was captured
    #[arg(long, value_name = "DIR", group = "part")]
    pub(crate) profiles: Option<PathBuf>,
    /// Write a chart of the HTML report to FILE.svg or FILE.png; without NAME and FILE the names of this run are listed
    ///
    /// Names are offered-load-and-throughput (of scenarios with several requests an iteration throughput and offered-load),
    /// response-time-ENDPOINT, distribution-PHASE, requests-in-flight, cpu and resident-memory, as far as the run has them.
    #[arg(long, num_args = 0..=2, value_names = ["NAME", "FILE"], group = "part")]
    pub(crate) chart: Option<Vec<String>>,
    /// Draw the chart on a dark background
    #[arg(long, requires = "chart")]
    pub(crate) dark: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The plan
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) overrides: OverrideArguments,
    #[command(flatten)]
    pub(crate) options: RunOptionArguments,
    /// The run file to write [default: the plan's name with the time]
    #[arg(short, long, value_name = "FILE", value_parser = run_file, help_heading = RESULTS)]
    pub(crate) output: Option<PathBuf>,
    /// Keep no run file: the evidence is deleted after the verdict
    #[arg(long, help_heading = RESULTS, conflicts_with_all = ["output", "force", "kubernetes"], hide_short_help = true)]
    pub(crate) no_evidence: bool,
    /// Show no progress
    #[arg(short, long, help_heading = RESULTS)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) workers: WorkersArguments,
    #[command(flatten)]
    pub(crate) kubernetes: KubernetesArguments,
}

/// The options of every run, whatever load it offers.
#[derive(Debug, Args)]
pub(crate) struct RunOptionArguments {
    /// Send each step once, show every exchange, and record nothing
    #[arg(long, help_heading = "Load", conflicts_with_all = ["output", "html", "md", "json", "junit"])]
    pub(crate) once: bool,
    /// Offer the load without sending each step once before it
    #[arg(long, help_heading = "Load", hide_short_help = true)]
    pub(crate) no_precheck: bool,
    /// Replace the run file if it exists
    #[arg(long, help_heading = RESULTS)]
    pub(crate) force: bool,
    /// Number of loops that offer the load, each on its own thread and with an equal share
    #[arg(long, help_heading = "Load", hide_short_help = true, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) loops: u16,
    /// Send series to another system during the run; repeatable
    ///
    /// prometheus-remote-write=URL or otlp=URL.
    #[arg(long = "out", help_heading = RESULTS, value_name = "NAME=URL", value_parser = out::target, conflicts_with = "once")]
    pub(crate) outs: Vec<OutTarget>,
    /// Serve the report of the run so far as a page at this address while it goes on; off loopback only with the token that is
    /// printed [default: 127.0.0.1:5665, or the next port that is free]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with = "once")]
    pub(crate) live: Option<LiveAddress>,
    #[command(flatten)]
    pub(crate) outputs: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The plan
    pub(crate) plan: PathBuf,
    #[command(flatten)]
    pub(crate) overrides: OverrideArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run file
    pub(crate) file: PathBuf,
    /// An objective to judge the run by, besides its own, such as 'p95 < 50ms'; repeatable
    #[arg(long = "objective", alias = "ask", value_name = "OBJECTIVE")]
    pub(crate) objectives: Vec<String>,
    #[command(flatten)]
    pub(crate) outputs: OutputArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The rule's id or title, such as `L1` or `offered-load-not-reached`
    pub(crate) rule: Option<String>,
}

/// The name of a run file. Other generators name a report's format with the same option.
fn run_file(text: &str) -> Result<PathBuf, String> {
    match text {
        "json" | "html" | "md" | "junit" => Err(format!(
            "this option names the run file; a report is written by --{text} FILE, or --{text} - to standard output"
        )),
        "csv" | "text" => {
            Err("this option names the run file; reports are written by --json, --html, --md and --junit"
                .to_owned())
        }
        name => match report_of(name) {
            Some(option) => Err(format!(
                "this option names the run file, which is evidence and no report: write the report with `{option} {name}`"
            )),
            None => Ok(name.into()),
        },
    }
}

/// The option that writes a report to a file of this name; none where it says nothing of a report.
fn report_of(name: &str) -> Option<&'static str> {
    match Path::new(name).extension()?.to_str()? {
        "html" | "htm" => Some("--html"),
        "md" => Some("--md"),
        "json" => Some("--json"),
        "xml" => Some("--junit"),
        _ => None,
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, address)) if !name.is_empty() && !address.is_empty() => {
            Ok((name.to_owned(), address.to_owned()))
        }
        _ => Err("expected NAME=ADDRESS, with the name of `[targets.NAME]` in the plan, such as api=http://127.0.0.1:8000"
            .to_owned()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("expected a number above 0, such as 2 for twice as much or 0.1 for a tenth".to_owned()),
    }
}
