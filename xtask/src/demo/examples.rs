//! The scenario library in small: each plan of `examples/` against its service, seconds in the place of minutes.
//!
//! What is held is that each plan runs to its end and that its books balance. Its objectives are for the real length.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::service::{Ports, Service};
use super::{AS_FOR_TESTS, accounting, build, meaning};
use crate::child::Running;
use crate::served::Served;
use crate::signals;
use crate::workspace::Workspace;

/// What may follow the verb.
pub(crate) const USAGE: &str = "";
/// What the verb is for.
pub(crate) const ABOUT: &str =
    "the plans of `examples/` in small, each against its service; their books must balance";

/// A plan, how much shorter, and how much less of it.
struct Rehearsal {
    plan: &'static str,
    time_scale: &'static str,
    load: &'static str,
}

const fn rehearsal(plan: &'static str, time_scale: &'static str, load: &'static str) -> Rehearsal {
    Rehearsal { plan, time_scale, load }
}

/// Against the challenge service.
const CHALLENGE: [Rehearsal; 4] = [
    rehearsal("new-players-300", "0.05", "1"),
    rehearsal("new-players-600", "0.05", "1"),
    rehearsal("new-players-ramp", "0.02", "1"),
    rehearsal("combined", "0.005", "1"),
];
/// Against the listings service.
const LISTINGS: [Rehearsal; 1] = [rehearsal("grpc-bursts", "0.02", "0.1")];
/// Against the telemetry gateway.
const GATEWAY: [Rehearsal; 1] = [rehearsal("thinking-users", "0.03", "1")];

/// Rehearses every plan.
///
/// # Errors
/// When something cannot be built or started, or a plan does not run to its end with books that balance.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    ensure!(arguments.is_empty(), "rehearse takes no arguments");
    build(workspace, AS_FOR_TESTS)?;
    all(workspace)
}

/// Rehearses every plan with what has been built.
///
/// # Errors
/// As [`run`].
pub(crate) fn all(workspace: &Workspace) -> Result<()> {
    signals::outlive();
    let folder = workspace.scratch("rehearse")?;
    let service = Service::start(workspace, Ports::Free)?;
    let mut targets = service.targets()?;
    let rehearsed = CHALLENGE.iter().try_for_each(|plan| rehearse(workspace, &folder, (plan, &targets)));
    let stopped = service.stop();
    rehearsed?;
    stopped?;
    let listings = listings(workspace, &folder)?;
    targets = vec![format!("service={}", listings.address("grpc")?)];
    let rehearsed = LISTINGS.iter().try_for_each(|plan| rehearse(workspace, &folder, (plan, &targets)));
    let stopped = listings.stop();
    rehearsed?;
    stopped?;
    let gateway = gateway(workspace, &folder)?;
    targets = vec![format!("gateway=http://{}", gateway.address("http")?)];
    let rehearsed = GATEWAY.iter().try_for_each(|plan| rehearse(workspace, &folder, (plan, &targets)));
    let stopped = gateway.stop();
    rehearsed?;
    stopped
}

/// The telemetry gateway on ports that the system chose.
fn gateway(workspace: &Workspace, folder: &Path) -> Result<Served> {
    let mut command = Command::new(workspace.binary("gateway"));
    command.arg("serve").current_dir(folder).envs([("HTTP_PORT", "0"), ("ADMIN_PORT", "0")]);
    Served::start(command, folder.join("gateway.log"))
}

/// The listings service on ports that the system chose, with a small marketplace in it.
fn listings(workspace: &Workspace, folder: &Path) -> Result<Served> {
    let database = folder.join("listings.db");
    let command = || {
        let mut command = Command::new(workspace.binary("listings"));
        command.env("DATABASE_PATH", &database).envs([("GRPC_PORT", "0"), ("HTTP_PORT", "0")]);
        command.envs([("AUTH_ENABLED", "false"), ("RATE_LIMIT_ENABLED", "false")]);
        command.current_dir(folder).stdin(Stdio::null());
        command
    };
    for file in ["listings.db", "listings.db-wal", "listings.db-shm"] {
        // Of an earlier rehearsal, if there was one.
        let _not_there = std::fs::remove_file(folder.join(file));
    }
    let mut seed = command();
    seed.args(["seed", "--listings", "3000"]).stdout(Stdio::null());
    let seeded = Running::start("listings seed", seed)?.wait()?;
    ensure!(seeded.success(), "listings seed ended with {seeded}");
    let mut serve = command();
    serve.arg("serve");
    Served::start(serve, folder.join("listings.log"))
}

fn rehearse(workspace: &Workspace, folder: &Path, (plan, targets): (&Rehearsal, &[String])) -> Result<()> {
    let archive = folder.join(format!("{}.plimsoll", plan.plan));
    let file = format!("examples/{}.toml", plan.plan);
    let mut command = Command::new(workspace.binary("plimsoll"));
    command.current_dir(workspace.root()).stdin(Stdio::null()).stdout(Stdio::null());
    command.args(["run", &file, "-q", "--force", "--time-scale", plan.time_scale, "--load", plan.load, "-o"]);
    command.arg(&archive);
    for target in targets.iter().filter(|target| is_named(workspace, &file, target)) {
        command.args(["--target", target]);
    }
    let status = Running::start("plimsoll run", command)?.wait()?;
    let code = status.code().with_context(|| format!("{file}: plimsoll run ended with {status}"))?;
    ensure!(matches!(code, 0 | 3 | 4 | 5), "{file}: exit code {code}, {}", meaning(code));
    let judged = accounting::read(&workspace.binary("plimsoll"), &archive)?;
    accounting::require_balance(&judged).with_context(|| file.clone())?;
    println!("{file}: exit code {code}, the books balance");
    Ok(())
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
    fn every_plan_of_the_library_is_rehearsed() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        // The demo has a check of its own, and the other shows the shapes of loads that `check` prints.
        let others = ["demo", "load-shapes"];
        let files = std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path());
        let mut plans: Vec<String> = files
            .filter(|path| path.extension().is_some_and(|end| end == "toml"))
            .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
            .filter(|name| !others.contains(&name.as_str()))
            .collect();
        plans.sort();
        let mut rehearsed: Vec<&str> =
            CHALLENGE.iter().chain(&LISTINGS).chain(&GATEWAY).map(|plan| plan.plan).collect();
        rehearsed.sort_unstable();
        assert_eq!(plans, rehearsed);
    }
}
