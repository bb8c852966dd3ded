//! The plans of `examples/` in a short form: each against its service, for seconds instead of minutes.
//!
//! Asserted is that each plan runs to its end and that its counts add up. Its objectives are for its real length.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use xtask::child::Running;
use xtask::demo::meaning;
use xtask::demo::service::{Ports, Service};
use xtask::service_process::ServiceProcess;
use xtask::signals;
use xtask::workspace::Workspace;

use crate::demo_check::accounting;
use crate::steps;

/// A plan, and the parts of its time and of its rates that are offered.
struct ExampleRun {
    plan: &'static str,
    time_scale: &'static str,
    load: &'static str,
}

const fn example(plan: &'static str, time_scale: &'static str, load: &'static str) -> ExampleRun {
    ExampleRun { plan, time_scale, load }
}

/// Against the challenge service.
const CHALLENGE: [ExampleRun; 5] = [
    example("new-players-300", "0.05", "1"),
    example("new-players-600", "0.05", "1"),
    example("new-players-ramp", "0.02", "1"),
    example("combined", "0.005", "1"),
    example("profiled", "0.25", "1"),
];
/// Against the listings service.
const LISTINGS: [ExampleRun; 1] = [example("grpc-bursts", "0.02", "0.1")];
/// Against the telemetry gateway.
const GATEWAY: [ExampleRun; 1] = [example("thinking-users", "0.03", "1")];

/// Builds what is needed and runs every plan.
///
/// # Errors
/// When something cannot be built or started, or a plan does not run to its end with counts that add up.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    build(workspace)?;
    all(workspace)
}

/// Builds programs with the selection of the tests: another selection would unify features in another way
/// and compile half the tree again.
fn build(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo();
    command.args(["build", "--locked", "--workspace", "--all-targets"]);
    command.args(crate::features::FEATURES);
    steps::run(command).context("cannot build the tool and the services")
}

/// Runs every plan with what has been built.
///
/// # Errors
/// As [`run`].
pub(crate) fn all(workspace: &Workspace) -> Result<()> {
    signals::catch();
    let folder = workspace.scratch("examples")?;
    let service = Service::start_with(workspace, Ports::Free, &[("PROFILING", "on")])?;
    let mut targets = service.targets()?;
    // Read by `profiled.toml`.
    let environment = [("CHALLENGE_ADMIN", service.admin()?.to_owned())];
    let examples = Examples { workspace, folder: &folder, environment: &environment };
    let ran = CHALLENGE.iter().try_for_each(|example| examples.run(example, &targets));
    let stopped = service.stop();
    ran?;
    stopped?;
    let examples = Examples { environment: &[], ..examples };
    let listings = listings(workspace, &folder)?;
    targets = vec![format!("service={}", listings.address("grpc")?)];
    let ran = LISTINGS.iter().try_for_each(|example| examples.run(example, &targets));
    let stopped = listings.stop();
    ran?;
    stopped?;
    let gateway = gateway(workspace, &folder)?;
    targets = vec![format!("gateway=http://{}", gateway.address("http")?)];
    let ran = GATEWAY.iter().try_for_each(|example| examples.run(example, &targets));
    let stopped = gateway.stop();
    ran?;
    stopped
}

/// The telemetry gateway on free ports.
fn gateway(workspace: &Workspace, folder: &Path) -> Result<ServiceProcess> {
    let mut command = Command::new(workspace.binary("gateway"));
    command.arg("serve").current_dir(folder).envs([("HTTP_PORT", "0"), ("ADMIN_PORT", "0")]);
    ServiceProcess::start(command, folder.join("gateway.log"))
}

/// The listings service on free ports, with a small marketplace in its database.
fn listings(workspace: &Workspace, folder: &Path) -> Result<ServiceProcess> {
    let database = folder.join("listings.db");
    let command = || {
        let mut command = Command::new(workspace.binary("listings"));
        command
            .env("DATABASE_PATH", &database)
            .envs(["GRPC_PORT", "HTTP_PORT", "ADMIN_PORT"].map(|port| (port, "0")));
        command.envs([("AUTH_ENABLED", "false"), ("RATE_LIMIT_ENABLED", "false")]);
        command.current_dir(folder).stdin(Stdio::null());
        command
    };
    for file in ["listings.db", "listings.db-wal", "listings.db-shm"] {
        // Of an earlier run, if there was one.
        let _not_there = std::fs::remove_file(folder.join(file));
    }
    let mut seed = command();
    seed.args(["seed", "--listings", "3000"]).stdout(Stdio::null());
    let seeded = Running::start("listings seed", seed)?.wait()?;
    ensure!(seeded.success(), "listings seed ended with {seeded}");
    let mut serve = command();
    serve.arg("serve");
    ServiceProcess::start(serve, folder.join("listings.log"))
}

#[derive(Clone, Copy)]
struct Examples<'a> {
    workspace: &'a Workspace,
    folder: &'a Path,
    environment: &'a [(&'static str, String)],
}

impl Examples<'_> {
    fn run(&self, example: &ExampleRun, targets: &[String]) -> Result<()> {
        let Examples { workspace, folder, environment } = *self;
        let archive = folder.join(format!("{}.plimsoll", example.plan));
        let file = format!("examples/{}.toml", example.plan);
        let mut command = Command::new(workspace.binary("plimsoll"));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
        command.args([
            "run",
            &file,
            "--quiet",
            "--force",
            "--time-scale",
            example.time_scale,
            "--load",
            example.load,
        ]);
        command.arg("-o").arg(&archive);
        for target in targets.iter().filter(|target| is_named(workspace, &file, target)) {
            command.args(["--target", target]);
        }
        let status = Running::start("plimsoll run", command)?.wait()?;
        let code = status.code().with_context(|| format!("{file}: plimsoll run ended with {status}"))?;
        ensure!(matches!(code, 0 | 3 | 4 | 5), "{file}: exit code {code}, {}", meaning(code));
        let judged = accounting::read(&workspace.binary("plimsoll"), &archive)?;
        accounting::require_consistent(&judged).with_context(|| file.clone())?;
        println!("{file}: exit code {code}, the counts add up");
        Ok(())
    }
}

/// Whether the plan has the target of `NAME=ADDRESS`.
fn is_named(workspace: &Workspace, plan: &str, target: &str) -> bool {
    let text = std::fs::read_to_string(workspace.root().join(plan)).unwrap_or_default();
    target.split_once('=').is_some_and(|(name, _)| text.contains(&format!("[targets.{name}]")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_of_the_folder_is_run() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        // The demo has a check of its own, and one shows the shapes of loads that `check` prints.
        let others = ["demo", "load-shapes"];
        let files = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path());
        let mut plans: Vec<String> = files
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|name| !others.contains(&name.as_str()))
            .collect();
        plans.sort();
        let mut run: Vec<&str> =
            CHALLENGE.iter().chain(&LISTINGS).chain(&GATEWAY).map(|example| example.plan).collect();
        run.sort_unstable();
        assert_eq!(plans, run);
    }
}
