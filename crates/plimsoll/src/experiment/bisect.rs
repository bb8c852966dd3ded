//! One step of `git bisect run`: is what is checked out worse than the baseline?
//!
//! Git takes 0 for good, 1 to 124 for bad, 125 for a commit to skip, and ends the bisection from 128 on.

use std::process::{Command, Stdio};

use ::report::experiment::ExperimentSummary;
use anyhow::{Context, anyhow};
use evidence::{ExperimentEnd, ExperimentJudgement, Verdict};
use workload::experiment::Experiment;

use super::calibration::options;
use super::definition;
use super::options::SessionOptions;
use super::session::{self, NotReady, summary};
use crate::arguments::AbArguments;
use crate::failure::{CommandResult, Failure};
use crate::outputs::{self, note};
use crate::screen;
use crate::signals::Listener;

const GOOD: u8 = 0;
const BAD: u8 = 1;
const SKIPPED: u8 = 125;
/// The bisection cannot go on.
const ENDS: u8 = 128;

/// What is checked out, by its exit code.
pub(crate) fn step(arguments: &AbArguments) -> u8 {
    answer(arguments).unwrap_or_else(|failure| {
        // That standard error was closed changes no exit code.
        let _ = screen::print(&failure.text());
        match &failure {
            Failure::Usage(error) if error.is::<NotReady>() => SKIPPED,
            _ => ENDS,
        }
    })
}

fn answer(arguments: &AbArguments) -> CommandResult<u8> {
    let experiment = definition::read(arguments)?;
    if let Some(build) = &arguments.build
        && !builds(build)?
    {
        note(format_args!("`{build}` failed: this commit is skipped"));
        return Ok(SKIPPED);
    }
    let listener = Listener::start()?;
    let mut options = options(arguments, &experiment)?;
    let mut summary = made(&listener, &experiment, &options)?;
    if summary.judgement.verdict == Verdict::Invalid {
        note("these pairs decide nothing: they are made once more");
        options.folder = options.folder.map(|folder| folder.with_extension("again.ab"));
        summary = made(&listener, &experiment, &options)?;
    }
    outputs::write_experiment(&summary, &arguments.outputs, &outputs::PreopenedReports::default())?;
    let judgement = &summary.judgement;
    if judgement.end == ExperimentEnd::Interrupted {
        return Err(Failure::usage(anyhow!("the step was interrupted, and the bisection ends")));
    }
    let code = code(judgement);
    note(match code {
        GOOD => "this commit is good",
        BAD => "this commit is bad",
        _ => "this commit is skipped",
    });
    Ok(code)
}

/// The pairs, made and judged.
fn made(
    listener: &Listener,
    experiment: &Experiment,
    options: &SessionOptions,
) -> CommandResult<ExperimentSummary> {
    let made = session::run(listener, experiment, options)?;
    Ok(summary(&made.record, made.judgement))
}

fn code(judgement: &ExperimentJudgement) -> u8 {
    match judgement.verdict {
        Verdict::Pass | Verdict::Measured => GOOD,
        Verdict::Fail => BAD,
        Verdict::Inconclusive | Verdict::Invalid => SKIPPED,
    }
}

/// Whether the command ends well. What it prints is shown.
fn builds(command: &str) -> CommandResult<bool> {
    let status = Command::new("sh")
        // Standard output is for reports.
        .args(["-c", &format!("exec >&2; {command}")])
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("cannot start `{command}`"))
        .map_err(Failure::own)?;
    Ok(status.success())
}
