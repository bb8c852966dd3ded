//! The demo in a short form, on free ports, with its counts and findings asserted.

pub(crate) mod accounting;

use anyhow::{Context as _, Result, ensure};
use xtask::demo::service::Ports;
use xtask::demo::{PROFILE, Run, meaning, under_load};
use xtask::workspace::Workspace;

/// Builds and runs the short form.
///
/// # Errors
/// As [`check`].
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::with_profile(PROFILE)?;
    xtask::demo::build(&workspace).context("cannot build the tool and the service")?;
    check(&workspace)
}

/// Runs what was built, with the demo's own profile: its programs are those that a newcomer gets.
///
/// # Errors
/// When something cannot be started, the run did not complete, or a count or a file is not what the plan promises.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_arrivals_fail_the_demo_whatever_the_verdict() {
        let workspace = Workspace::with_fake_binaries("sound", "lost").expect("tests run in the workspace");
        run_and_assert(&workspace, &["--exit", "4"]).expect("nothing is lost");
        let error = run_and_assert(&workspace, &["--lose", "2"]).expect_err("two are lost");
        assert_eq!(
            format!("{error:#}"),
            "after exit code 3: 10 arrivals scheduled, but 7 started and 1 dropped"
        );
    }
}
