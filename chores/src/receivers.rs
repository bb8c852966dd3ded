//! What other programs read of a run, asked of these programs: Prometheus and an OpenTelemetry collector receive its series
//! while it goes on, and Prometheus imports its export. All of them must have the counts of the run file, and each query of the
//! dashboard for Grafana must have data.

mod collector;
mod counts;
mod dashboard;
mod prometheus;

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use peers::nginx::Nginx;

use crate::steps::{self, printed};
use collector::Collector;
use counts::Counts;
use prometheus::Prometheus;
use xtask::workspace::Workspace;

const BINARY: &str = "plimsoll";
const RUN: &str = "receivers";
const RUN_FILE: &str = "run.plimsoll";
const EXPORT: &str = "run.om";

/// Eight seconds of two endpoints, one of which fails, with a check, and of a scenario whose one virtual user is not enough.
fn plan(port: u16) -> String {
    format!(
        "version = 1\nname = \"{RUN}\"\nprecheck = false\n[targets.web]\nurl = \"http://127.0.0.1:{port}\"\n[[scenarios]]\nname = \"visit\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"100/s\"\nduration = \"8s\"\n[[scenarios.steps]]\nname = \"found\"\n\
         weight = 4\nget = \"${{web.url}}/\"\nexpect = {{ body_contains = \"hello\" }}\n[[scenarios.steps]]\nname = \"missing\"\nweight = 1\n\
         get = \"${{web.url}}/missing\"\nexpect = {{ body_contains = \"hello\" }}\n[[scenarios]]\nname = \"wait\"\n\
         executor = \"constant-arrival-rate\"\nrate = \"20/s\"\nduration = \"8s\"\nmax_vus = 1\n[[scenarios.steps]]\n\
         name = \"before\"\nget = \"${{web.url}}/\"\n[[scenarios.steps]]\nname = \"after\"\nthink = \"200ms\"\n\
         get = \"${{web.url}}/\"\n"
    )
}

/// Runs the plan, and compares what its receivers have.
///
/// # Errors
/// When a program is missing or cannot be started, or has other counts than the run file.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    prometheus::require()?;
    let mut build = workspace.cargo();
    build.args(["build", "--locked", "--package", BINARY]).args(workspace.profile());
    steps::run(build)?;
    let tool = Tool { program: workspace.binary(BINARY), folder: workspace.scratch("receivers")? };
    let target = Nginx::start_configured(configuration).context("the server to load")?;
    let collector = steps::step("receivers: build and start the collector", || {
        Collector::start(&workspace.root().join("chores/collector"), &tool.folder)
    })?;
    let prometheus = steps::step("receivers: start Prometheus", || Prometheus::start(&tool.folder))?;
    let expected = steps::step("receivers: a run", || {
        tool.offer(&plan(target.http1_port()), &[prometheus.out(), collector.out()])
    })?;
    println!("the run file       {expected}");
    compare("Prometheus", &prometheus.counts()?, &expected)?;
    println!("Prometheus p95     {} s, by histogram_quantile over its buckets", prometheus.p95()?);
    let queries = dashboard::queries(workspace.root(), RUN)?;
    queries.iter().try_for_each(|query| prometheus.require_data(query))?;
    println!("the dashboard      {} queries, each with data", queries.len());
    compare("collector", &collector.counts()?, &expected)?;
    tool.run(&["export", RUN_FILE, "--openmetrics", EXPORT])?;
    compare("promtool's import", &prometheus::imported(&tool.folder, EXPORT)?, &expected)
}

fn compare(name: &str, received: &Counts, expected: &Counts) -> Result<()> {
    println!("{name:<18} {received}");
    ensure!(received == expected, "{name} has {received}, the run file {expected}");
    Ok(())
}

fn configuration(folder: &Path, [port]: [u16; 1]) -> String {
    let folder = folder.display();
    format!(
        "pid {folder}/nginx.pid;\nerror_log {folder}/error.log;\nevents {{}}\nhttp {{\n  access_log off;\n  \
         server {{ listen 127.0.0.1:{port}; location / {{ return 200 hello; }} location /missing {{ return 404; }} }}\n}}\n"
    )
}

/// The command under test, and the folder in which it runs.
struct Tool {
    program: PathBuf,
    folder: PathBuf,
}

impl Tool {
    /// Runs the plan and sends its series to `outs`; the counts of its run file.
    fn offer(&self, plan: &str, outs: &[String]) -> Result<Counts> {
        std::fs::write(self.folder.join("plan.toml"), plan).context("cannot write the plan")?;
        let mut arguments = vec!["run", "plan.toml", "--quiet", "-o", RUN_FILE];
        outs.iter().for_each(|out| arguments.extend(["--out", out]));
        self.run(&arguments)?;
        let report = self.run(&["report", RUN_FILE, "--json", "-"])?;
        Counts::of_report(&serde_json::from_str(&report).context("the report is not JSON")?)
    }

    /// What it prints.
    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.program);
        printed(command.args(arguments).current_dir(&self.folder))
    }
}

/// A port that is free now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr().context("a listener has an address")?.port())
}
