//! The tool and a service on one machine: the README's first command.
//!
//! The demo ignores the verdict. It fails only when the run did not complete.

mod building;
pub mod service;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::child::Running;
use crate::signals::{self, StopSignal};
use crate::workspace::Workspace;
pub use building::build;
use service::{Ports, Service};

/// The profile of Cargo.toml that the demo is built with.
pub const PROFILE: &str = "demo";
/// What may follow the verb.
pub const USAGE: &str = "[--check] [-- ARGUMENTS OF `plimsoll run`]";

const PLAN: &str = "examples/demo.toml";

/// One run of the plan: where its results go and further arguments.
pub struct Run {
    pub archive: PathBuf,
    /// The HTML report.
    pub html: PathBuf,
    /// The Markdown report.
    pub markdown: PathBuf,
    extra: Vec<String>,
}

impl Run {
    /// A run whose results go into `folder`.
    #[must_use]
    pub fn into_folder(folder: &Path, extra: Vec<String>) -> Self {
        let file = |name: &str| folder.join(name);
        Self { archive: file("demo.plimsoll"), html: file("demo.html"), markdown: file("demo.md"), extra }
    }
}

/// Builds what the demo needs and runs it at its full length. What follows `--` goes to `plimsoll run`.
///
/// # Errors
/// When something cannot be built or started, or the run did not complete.
#[allow(clippy::print_stdout, reason = "it is what the demo prints")]
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let extra = match arguments {
        [] => Vec::new(),
        [separator, extra @ ..] if separator == "--" => extra.to_vec(),
        [other, ..] => bail!("unknown argument `{other}`; usage: cargo xtask demo {USAGE}"),
    };
    service::require_free_ports()?;
    build(workspace).context("cannot build the tool and the service")?;
    let run = Run::into_folder(Path::new(""), extra);
    let code = under_load(workspace, Ports::Default, &run)?;
    println!(
        "\n`plimsoll run` gave exit code {code}: {}\nsee {} and {}",
        meaning(code),
        run.html.display(),
        run.markdown.display()
    );
    Ok(())
}

/// Starts the service, runs the plan against it and stops it, also when the run failed. Returns the exit code of the run.
///
/// # Errors
/// When something cannot be started, or the run was interrupted or did not complete.
pub fn under_load(workspace: &Workspace, ports: Ports, run: &Run) -> Result<i32> {
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

/// What an exit code of `plimsoll run` says.
#[must_use]
pub fn meaning(code: i32) -> &'static str {
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

    fn check_run(test: &str, extra: &[&str], expect: Result<i32, &str>) -> String {
        let _lock = signals::exclusive();
        let (workspace, run) = fake("sound", test, extra);
        let code = under_load(&workspace, Ports::Free, &run).map_err(|error| format!("{error:#}"));
        assert_eq!(code.as_ref().map(|&code| code).map_err(String::as_str), expect);
        std::fs::read_to_string(&run.archive).expect("the fake tool writes it")
    }

    fn fake(fixture: &str, test: &str, extra: &[&str]) -> (Workspace, Run) {
        let workspace = Workspace::with_fake_binaries(fixture, test).expect("tests run in the workspace");
        let folder = workspace.scratch("run").expect("target is writable");
        let run = Run::into_folder(&folder, extra.iter().map(|&argument| argument.to_owned()).collect());
        (workspace, run)
    }

    #[test]
    fn any_verdict_is_a_completed_run() {
        for code in [0, 3, 4, 5] {
            check_run("verdicts", &["--exit", &code.to_string()], Ok(code));
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
    fn an_interrupted_demo_ends_after_the_run_and_reports_it() {
        let interrupted = "interrupted; `plimsoll run` gave exit code 4";
        check_run("interrupted", &["--interrupt", "--exit", "4"], Err(interrupted));
    }

    #[test]
    fn the_run_gets_the_ports_of_the_service_as_targets() {
        let free = "\"targets\": \" challenge=http://127.0.0.1:18000/challenge events=127.0.0.1:16566\"";
        let archive = check_run("targets", &[], Ok(3));
        assert!(archive.contains(free), "{archive}");
        let _lock = signals::exclusive();
        let (workspace, run) = fake("sound", "default-ports", &[]);
        under_load(&workspace, Ports::Default, &run).expect("the scripts work");
        let archive = std::fs::read_to_string(&run.archive).expect("it was written");
        assert!(archive.contains("\"targets\": \"\""), "{archive}");
    }

    #[test]
    fn a_service_that_cannot_start_shows_the_end_of_its_log() {
        let _lock = signals::exclusive();
        let (workspace, run) = fake("broken", "cannot-start", &[]);
        let error = under_load(&workspace, Ports::Free, &run).expect_err("it ends at once").to_string();
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
    }
}
