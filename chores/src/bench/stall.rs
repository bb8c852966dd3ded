//! A server that stalls for 1 s in every 10: what response time shows and service time hides.
//!
//! A fresh target is loaded by each of two models: 1,000 arrivals a second on schedule, and ten users that send their
//! next request 9 ms after a response, hence as often while nothing stalls. Then the installed tools of others load it
//! with their usual options. The figures are printed beside the target's own log and the waiting time that follows from
//! the stalls.

mod other_tools;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use self::other_tools::OtherTool;
use super::table::{Table, figure};
use super::testbed_target::TestbedTarget;
use super::{build, machine, print_command, publish};
use xtask::child::Running;
use xtask::workspace::Workspace;

const MOST_SECONDS: u64 = 600;
/// How long a target runs after the load: long enough for the last freeze.
const AFTERWARDS_SECONDS: u64 = 8;

/// An open or a closed model of load.
struct LoadModel {
    name: &'static str,
    /// The settings of the plan's scenario.
    shape: &'static str,
    /// The settings of the plan's step, besides its request.
    pause: &'static str,
}

const LOAD_MODELS: [LoadModel; 2] = [
    LoadModel {
        name: "open",
        shape: "executor = \"constant-arrival-rate\"\nrate = \"1000/s\"\nmax_vus = 3000\n",
        pause: "",
    },
    LoadModel {
        name: "closed",
        shape: "executor = \"constant-vus\"\nvus = 10\n",
        pause: "think = \"9ms\"\n",
    },
];

/// What a tool reports: how many requests, and quantiles of their times.
struct ReportedTimes {
    name: String,
    count: Option<f64>,
    /// The 50th, 95th and 99th percentile and the longest.
    times_ms: [Option<f64>; 4],
}

impl ReportedTimes {
    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.name.clone(), figure(self.count, 0)];
        cells.extend(self.times_ms.iter().map(|time| figure(*time, 1)));
        cells
    }
}

const DOCUMENT: &str = "docs/benchmarks.md";

/// Measures with all models and tools, and prints the results side by side.
///
/// # Errors
/// When a program cannot be built or started, or its report cannot be read.
pub(super) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let Options { seconds, is_written } = *options;
    build(workspace, &["plimsoll", "testbed"])?;
    let folder = workspace.scratch("bench-stall")?;
    let mut rows = vec![expected_waits()];
    for model in &LOAD_MODELS {
        rows.extend(measure(workspace, model, seconds, &folder)?);
    }
    let (present, missing): (Vec<_>, Vec<_>) = OtherTool::ALL.iter().partition(|other| other.is_there());
    for other in present {
        let target = freezing_target(workspace, seconds)?;
        rows.push(other.measure(&target.address, seconds, &folder)?);
        target.print_log(other.name)?;
    }
    let mut notes = machine::describe(workspace).notes;
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|other| other.name).collect();
        notes.push(format!("not installed, so not measured: {}", names.join(", ")));
    }
    let head = &["source", "requests", "p50 ms", "p95 ms", "p99 ms", "max ms"];
    let rows = rows.iter().map(ReportedTimes::cells).collect();
    let text = Table { head, rows, notes, ..Table::default() }.render();
    publish(workspace, is_written.then_some(DOCUMENT), &BTreeMap::from([("stall", text)]))
}

/// The waits of requests that arrive at random instants: nine in ten take the 1 ms of a response, one in ten the rest of
/// the freeze, which is uniform between 0 and 1 s. Half of those one in ten wait longer than 0.5 s, which is the 95th
/// percentile, and a tenth of them longer than 0.9 s.
fn expected_waits() -> ReportedTimes {
    let times_ms = [1.0, 501.0, 901.0, 1001.0].map(Some);
    ReportedTimes { name: "expected, for arrivals at random instants".to_owned(), count: None, times_ms }
}

/// What may follow the benchmark's name.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long each offers load
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=MOST_SECONDS))]
    seconds: u64,
    /// Put the tables into docs/benchmarks.md
    #[arg(long = "write")]
    is_written: bool,
}

/// A target that freezes for 1 s in every 10.
fn freezing_target(workspace: &Workspace, seconds: u64) -> Result<TestbedTarget> {
    let life = format!("{}s", seconds + AFTERWARDS_SECONDS);
    TestbedTarget::start(workspace, &["http", "--delay", "1ms", "--freeze", "1s/10s", "--for", &life])
}

/// Loads a fresh target by one model; returns its rows of the table.
fn measure(
    workspace: &Workspace,
    model: &LoadModel,
    seconds: u64,
    folder: &Path,
) -> Result<[ReportedTimes; 2]> {
    let target = freezing_target(workspace, seconds)?;
    let report = offer(workspace, model.name, &model.plan(&target.address, seconds), folder)?;
    target.print_log(model.name)?;
    let row = report["endpoints"]
        .as_array()
        .and_then(|rows| rows.iter().find(|row| row["endpoint"] == "ask"))
        .context("the report has no row of the endpoint")?;
    let reported = |time: &str, field: &str| {
        let times = &row[field];
        let figure = |name: &str| times[name].as_f64();
        ReportedTimes {
            name: format!("Plimsoll, {} model, {time}", model.name),
            count: times["count"].as_f64(),
            times_ms: ["p50_ms", "p95_ms", "p99_ms", "max_ms"].map(figure),
        }
    };
    Ok([reported("response time", "response_time"), reported("service time", "service_time")])
}

fn offer(workspace: &Workspace, name: &str, plan: &str, folder: &Path) -> Result<Value> {
    let file = |kind: &str| folder.join(format!("{name}.{kind}"));
    std::fs::write(file("toml"), plan).context("cannot write the plan")?;
    let mut command = Command::new(workspace.binary("plimsoll"));
    command.arg("run").arg(file("toml")).arg("--quiet").arg("-o").arg(file("plimsoll"));
    command.arg("--json").arg(file("json")).stdin(Stdio::null());
    print_command(&command);
    let status = Running::start("plimsoll", command)?.wait()?;
    ensure!(matches!(status.code(), Some(0 | 3..=5)), "plimsoll ended with {status}");
    let text = std::fs::read(file("json")).context("cannot read the report")?;
    serde_json::from_slice(&text).context("the report is not JSON")
}

impl LoadModel {
    fn plan(&self, address: &str, seconds: u64) -> String {
        let Self { name, shape, pause } = self;
        format!(
            "version = 1\nprecheck = false\n[targets.server]\nurl = \"http://{address}\"\n[[phases]]\nname = \"load\"\n\
             duration = \"{seconds}s\"\n[[scenarios]]\nname = \"{name}\"\nphases = [\"load\"]\n{shape}\
             [[scenarios.steps]]\nname = \"ask\"\nget = \"${{server.url}}/\"\n{pause}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_figures_are_dashes() {
        let times_ms = [Some(1.25), Some(500.0), None, Some(1000.0)];
        let row = ReportedTimes { name: "open".to_owned(), count: Some(30.0), times_ms };
        assert_eq!(row.cells(), ["open", "30", "1.2", "500.0", "–", "1000.0"]);
    }

    #[test]
    fn only_the_closed_model_thinks() {
        let [open, closed] = &LOAD_MODELS;
        assert!(!open.plan("127.0.0.1:1", 5).contains("think"));
        assert!(closed.plan("127.0.0.1:1", 5).ends_with("get = \"${server.url}/\"\nthink = \"9ms\"\n"));
    }
}
