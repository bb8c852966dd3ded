//! A run that profiles the challenge service by its own endpoints: `examples/profiled.toml`.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use xtask::child::Running;
use xtask::demo::meaning;
use xtask::demo::service::{Ports, Service};
use xtask::signals;
use xtask::workspace::Workspace;

use crate::steps;

/// What the verb is for.
pub(crate) const ABOUT: &str =
    "a run of `examples/profiled.toml` against a service built with profiles; the run file must have them";

const PLAN: &str = "examples/profiled.toml";

/// Builds what is needed and checks.
///
/// # Errors
/// When something cannot be built, and when the run has no such profiles.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "profiles takes no arguments");
    let mut command = workspace.cargo();
    command.args(["build", "-p", "challenge", "-p", "plimsoll", "--features", "challenge/profiling"]);
    steps::run(command).context("cannot build the tool and the service")?;
    check(workspace)
}

/// Runs the plan against a service that was built with profiles, and checks that the run file has them: with the
/// functions of the service by name, and their cost for each request.
///
/// # Errors
/// When something cannot be started, the run did not complete, or a profile is missing.
fn check(workspace: &Workspace) -> Result<()> {
    signals::catch();
    let folder = workspace.scratch("profiled")?;
    let service =
        Service::start_with(workspace, Ports::Free, &[("PROFILING", "on"), ("PROFILING_BYTES", "16384")])?;
    let ran = profile(workspace, &folder, &service);
    let stopped = service.stop();
    ran?;
    stopped
}

fn profile(workspace: &Workspace, folder: &Path, service: &Service) -> Result<()> {
    let (archive, json) = (folder.join("profiled.plimsoll"), folder.join("profiled.json"));
    let mut command = Command::new(workspace.binary("plimsoll"));
    command.current_dir(workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
    command.env("CHALLENGE_ADMIN", service.admin()?);
    command.args(["run", PLAN, "--quiet", "--force"]).arg("-o").arg(&archive).arg("--json").arg(&json);
    for target in service.targets()?.iter().filter(|target| target.starts_with("challenge=")) {
        command.args(["--target", target]);
    }
    let status = Running::start("plimsoll run", command)?.wait()?;
    let code = status.code().with_context(|| format!("{PLAN}: plimsoll run ended with {status}"))?;
    ensure!(matches!(code, 0 | 3 | 4 | 5), "{PLAN}: exit code {code}, {}", meaning(code));
    let text = std::fs::read_to_string(&json).with_context(|| format!("cannot read {}", json.display()))?;
    let report: Value = serde_json::from_str(&text).context("the report is no JSON")?;
    for kind in ["cpu", "heap"] {
        println!("{PLAN}: {}", described(&report, kind)?);
    }
    Ok(())
}

/// The profile of a kind with its most expensive function of the service.
fn described(report: &Value, kind: &str) -> Result<String> {
    let profiles = report["profiles"].as_array().context("the report has no profiles")?;
    let profile = profiles.iter().find(|profile| profile["kind"] == kind);
    let profile = profile.with_context(|| format!("the run has no {kind} profile"))?;
    let requests = profile["ok"].as_u64().unwrap_or_default();
    ensure!(requests > 0, "no request succeeded in the window of the {kind} profile");
    let (total, unit) = (&profile["top"]["total"], &profile["top"]["sample_type"]["unit"]);
    let total = total.as_f64().with_context(|| format!("the {kind} profile has no total"))?;
    let rows = profile["top"]["rows"].as_array().context("the profile has no functions")?;
    let own = rows.iter().filter_map(|row| row["name"].as_str()).find(|name| name.contains("challenge::"));
    let own =
        own.with_context(|| format!("the {kind} profile names no function of the service: {rows:?}"))?;
    let each = total / requests as f64;
    Ok(format!("{kind}: {requests} requests, {each:.0} {unit} for each; `{own}`"))
}
