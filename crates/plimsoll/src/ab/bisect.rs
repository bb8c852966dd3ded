//! One step of `git bisect run`: is what is checked out worse than the baseline?
//!
//! Git takes 0 for good, 1 to 124 for bad, 125 for a commit to skip, and ends the bisection from 128 on.

use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};
use conduct::failure::{CommandResult, Failure};
use conduct::screen::{self, note};
use evidence::{ExperimentEnd, ExperimentJudgement, Verdict};
use experiments::session::NotReady;

const GOOD: u8 = 0;
const BAD: u8 = 1;
const SKIPPED: u8 = 125;
/// The bisection cannot go on.
const ENDS: u8 = 128;

/// What is checked out, by its exit code. One that does not build has no judgement.
pub(super) fn exit_code(judgement: CommandResult<Option<ExperimentJudgement>>) -> u8 {
    answer(judgement).unwrap_or_else(|failure| {
        // That standard error was closed changes no exit code.
        let _ = screen::print(&failure.text());
        match &failure {
            Failure::Usage(error) if error.is::<NotReady>() => SKIPPED,
            _ => ENDS,
        }
    })
}

fn answer(judgement: CommandResult<Option<ExperimentJudgement>>) -> CommandResult<u8> {
    let Some(judgement) = judgement? else { return Ok(SKIPPED) };
    if judgement.end == ExperimentEnd::Interrupted {
        return Err(Failure::usage(anyhow!("the step was interrupted, and the bisection ends")));
    }
    let (code, what) = match judgement.verdict {
        Verdict::Pass | Verdict::Measured => (GOOD, "good"),
        Verdict::Fail => (BAD, "bad"),
        Verdict::Inconclusive | Verdict::Invalid => (SKIPPED, "skipped"),
    };
    note(format_args!("this commit is {what}"));
    Ok(code)
}

/// Whether the command ends well. What it prints is shown.
pub(super) fn builds(command: &str) -> CommandResult<bool> {
    let status = Command::new("sh")
        // Standard output is for reports.
        .args(["-c", &format!("exec >&2; {command}")])
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{command}`"))
        .map_err(Failure::own)?;
    if !status.success() {
        note(format_args!("`{command}` failed: this commit is skipped"));
    }
    Ok(status.success())
}
