//! The tool and a service on one machine: the README's first command, and a short form that CI asserts on.
//!
//! The demo ignores the verdict. It fails only when the run did not complete or its counts do not add up.

mod accounting;
mod building;
pub(crate) mod examples;
pub(crate) mod profiled;
mod service;
pub(crate) mod session;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::child::Running;
use crate::signals::{self, StopSignal};
use crate::steps;
use crate::workspace::Workspace;
use service::{Ports, Service};

/// What may follow the verb.
pub(crate) const USAGE: &str = "[--check] [-- ARGUMENTS OF `plimsoll run`]";
/// What the verb is for.
pub(crate) const ABOUT: &str = "a real service under a real load, judged: demo.plimsoll, demo.html, demo.md\n\
    --check: ten times shorter and on free ports, with counts and findings asserted";

const PLAN: &str = "examples/demo.toml";

/// One run of the plan: where its results go and further arguments.
struct Run {
    archive: PathBuf,
    html: PathBuf,
    markdown: PathBuf,
    extra: Vec<String>,
}

impl Run {
    fn into_folder(folder: &Path, extra: Vec<String>) -> Self {
        let file = |name: &str| folder.join(name);
        Self { archive: file("demo.plimsoll"), html: file("demo.html"), markdown: file("demo.md"), extra }
    }
}

/// Runs the demo at its full length, or with `--check` the short form.
///
/// # Errors
/// When something cannot be built or started, the run did not complete, or its counts do not add up.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let (own, extra) = match arguments.iter().position(|argument| argument == "--") {
        Some(at) => (&arguments[..at], arguments[at + 1..].to_vec()),
        None => (arguments, Vec::new()),
    };
    match own {
        [] => show(workspace, extra),
        [flag] if flag == "--check" => {
            ensure!(extra.is_empty(), "--check takes no arguments of `plimsoll run`");
            check(workspace)
        }
        [other, ..] => bail!("unknown argument `{other}`; usage: cargo xtask demo {USAGE}"),
    }
}

fn show(workspace: &Workspace, extra: Vec<String>) -> Result<()> {
    service::require_free_ports()?;
    building::build_for_demo(workspace).context("cannot build the tool and the service")?;
    let run = Run::into_folder(Path::new(""), extra);
    let code = under_load(workspace, Ports::Default, &run)?;
    let judged = accounting::read(&workspace.binary("plimsoll"), &workspace.root().join(&run.archive))?;
    println!(
        "\n`plimsoll run` gave exit code {code}: {}\nsee {} and {}",
        meaning(code),
        run.html.display(),
        run.markdown.display()
    );
    accounting::require_consistent(&judged)
}

/// The demo a tenth as long, on free ports, with its counts and findings asserted.
///
/// # Errors
/// As `run`, and when a count or a file is not what the plan promises.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    build(workspace, AS_FOR_TESTS)?;
    run_and_assert(workspace, &["--time-scale", "0.1"])
}

fn run_and_assert(workspace: &Workspace, extra: &[&str]) -> Result<()> {
    let folder = workspace.scratch("demo-check")?;
    let run = Run::into_folder(&folder, extra.iter().map(|&argument| argument.to_owned()).collect());
    let code = under_load(workspace, Ports::Free, &run)?;
    let judged = accounting::read(&workspace.binary("plimsoll"), &run.archive)?;
    accounting::require_sound(&judged).with_context(|| format!("after exit code {code}"))?;
    for file in [&run.html, &run.markdown] {
        let written =
            std::fs::metadata(file).with_context(|| format!("{} was not written", file.display()))?;
        ensure!(written.len() > 0, "{} is empty", file.display());
    }
    println!("`plimsoll run` gave exit code {code}: {}; the counts add up", meaning(code));
    Ok(())
}

/// The selection and profile that the tests were built with: another one would unify features in another way and
/// compile half the tree again.
const AS_FOR_TESTS: &[&str] = &["--workspace", "--all-targets", "--profile", "test"];

fn build(workspace: &Workspace, selection: &[&str]) -> Result<()> {
    let mut command = workspace.cargo();
    command.arg("build").args(selection);
    steps::run(command).context("cannot build the tool and the service")
}

/// Starts the service, runs the plan against it and stops it, also when the run failed.
fn under_load(workspace: &Workspace, ports: Ports, run: &Run) -> Result<i32> {
    signals::catch();
    let service = Service::start(workspace, ports)?;
    let ran = offer(workspace, &service, run);
    let stopped = service.stop();
    let code = ran?;
    stopped?;
    if signals::last_signal() == Some(StopSignal::Interrupt) {
        bail!("interrupted; `plimsoll run` gave exit code {code}");
    }
    ensure!(
        matches!(code, 0 | 3 | 4 | 5),
        "the run did not complete: `plimsoll run` gave {code}, {}",
        meaning(code)
    );
    Ok(code)
}

fn offer(workspace: &Workspace, service: &Service, run: &Run) -> Result<i32> {
    let mut command = Command::new(workspace.binary("plimsoll"));
    command.current_dir(workspace.root()).stdin(Stdio::null());
    command.args(["run", PLAN, "--force", "-o"]).arg(&run.archive);
    command.arg("--html").arg(&run.html).arg("--md").arg(&run.markdown);
    for target in service.targets()? {
        command.arg("--target").arg(target);
    }
    command.args(&run.extra);
    let status = Running::start("plimsoll run", command)?.wait()?;
    status.code().with_context(|| format!("plimsoll run ended with {status}"))
}

fn meaning(code: i32) -> &'static str {
    match code {
        0 => "PASS or MEASURED",
        1 => "its own failure",
        2 => "usage, plan, or target not ready",
        3 => "FAIL",
        4 => "INCONCLUSIVE",
        5 => "INVALID",
        _ => "a code it does not document",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_run(test: &str, extra: &[&str], expect: Result<(), &str>) {
        let _lock = signals::exclusive();
        let workspace = Workspace::with_fake_binaries("sound", test);
        let result = run_and_assert(&workspace, extra).map_err(|error| format!("{error:#}"));
        assert_eq!(result.as_ref().map(|&()| ()).map_err(String::as_str), expect);
    }

    #[test]
    fn any_verdict_is_a_completed_run() {
        for code in ["0", "3", "4", "5"] {
            check_run("verdicts", &["--exit", code], Ok(()));
        }
    }

    #[test]
    fn a_run_that_did_not_complete_fails_the_demo() {
        let own = "the run did not complete: `plimsoll run` gave 1, its own failure";
        check_run("own-failure", &["--exit", "1"], Err(own));
        let usage = "the run did not complete: `plimsoll run` gave 2, usage, plan, or target not ready";
        check_run("usage", &["--exit", "2"], Err(usage));
    }

    #[test]
    fn lost_arrivals_fail_the_demo_whatever_the_verdict() {
        let lost = "after exit code 3: 10 arrivals scheduled, but 7 started and 1 dropped";
        check_run("lost", &["--lose", "2"], Err(lost));
    }

    #[test]
    fn an_interrupted_demo_ends_after_the_run_and_reports_it() {
        let interrupted = "interrupted; `plimsoll run` gave exit code 4";
        check_run("interrupted", &["--interrupt", "--exit", "4"], Err(interrupted));
    }

    #[test]
    fn the_run_gets_the_ports_of_the_service_as_targets() {
        let _lock = signals::exclusive();
        let workspace = Workspace::with_fake_binaries("sound", "targets");
        let run = Run::into_folder(&workspace.scratch("run").expect("target is writable"), Vec::new());
        under_load(&workspace, Ports::Free, &run).expect("the scripts work");
        let report = accounting::read(&workspace.binary("plimsoll"), &run.archive).expect("it was written");
        assert_eq!(report["targets"], " challenge=http://127.0.0.1:18000/challenge events=127.0.0.1:16566");
        under_load(&workspace, Ports::Default, &run).expect("the scripts work");
        let report = accounting::read(&workspace.binary("plimsoll"), &run.archive).expect("it was written");
        assert_eq!(report["targets"], "");
    }

    #[test]
    fn a_service_that_cannot_start_shows_the_end_of_its_log() {
        let _lock = signals::exclusive();
        let workspace = Workspace::with_fake_binaries("broken", "cannot-start");
        let error = run_and_assert(&workspace, &[]).expect_err("it ends at once").to_string();
        assert!(error.starts_with("the service ended before it was ready; the end of "), "{error}");
        assert!(error.ends_with("challenge.log:\n  no key source and no test identity"), "{error}");
    }

    #[test]
    fn unknown_arguments_are_refused_with_the_usage() {
        let workspace = Workspace::find().expect("tests run in the workspace");
        let error = run(&workspace, &["--fast".to_owned()]).expect_err("no such flag");
        assert_eq!(
            error.to_string(),
            "unknown argument `--fast`; usage: cargo xtask demo [--check] [-- ARGUMENTS OF `plimsoll run`]"
        );
        let arguments = ["--check", "--", "--time-scale", "1"].map(str::to_owned);
        let error = run(&workspace, &arguments).expect_err("the check takes none");
        assert_eq!(error.to_string(), "--check takes no arguments of `plimsoll run`");
    }
}
