//! `plimsoll compare`: run files side by side, what may be said of their differences and what may not.

use std::path::PathBuf;

use ::report::Detail;
use ::report::summary::{self, Comparison, MAX_SIDES};
use anyhow::anyhow;
use archive::Stored;
use conduct::failure::{CommandResult, Failure};
use conduct::judged::StoredRun;
use conduct::untrusted::UntrustedRunFiles;
use evidence::Run as _;

use crate::arguments::CompareArguments;
use crate::outputs;

/// A run file, read.
struct Opened {
    name: String,
    stored: StoredRun,
}

pub(crate) fn compare(arguments: &CompareArguments) -> CommandResult<u8> {
    if arguments.files.len() > MAX_SIDES {
        return Err(Failure::usage(anyhow!("at most {MAX_SIDES} run files can be laid side by side")));
    }
    let paths = || arguments.files.iter().map(PathBuf::as_path);
    UntrustedRunFiles::check(paths())?;
    let opened_reports = outputs::PreopenedReports::all(arguments.reports.named())?;
    let received = UntrustedRunFiles::at(paths())?;
    received.reach().confine();
    let opened: Vec<Opened> = received.read()?.into_iter().map(open).collect::<CommandResult<_>>()?;
    refuse_same_run(&opened)?;
    let sides: Vec<judge::Side<'_>> = opened.iter().map(|of| of.stored.side(&of.name)).collect();
    let judgement = judge::compare(&sides, &arguments.expect).map_err(Failure::own)?;
    let shown: Vec<summary::Side<'_>> = opened.iter().map(shown_side).collect();
    let comparison = Comparison::of(&shown, &judgement).map_err(Failure::own)?;
    let detail = if arguments.verbose { Detail::Full } else { Detail::Brief };
    outputs::write(&comparison, &arguments.reports, detail, &opened_reports)?;
    Ok(judge::exit_code(judgement.verdict))
}

fn open(run: Stored) -> CommandResult<Opened> {
    let name = run.path().display().to_string();
    Ok(Opened { name, stored: StoredRun::judge(run)? })
}

/// Refuse a run beside itself: a script that names one file twice would take its differences of 0 for a result.
fn refuse_same_run(opened: &[Opened]) -> CommandResult<()> {
    let [baseline, others @ ..] = opened else { return Ok(()) };
    let is_same = |other: &&Opened| {
        baseline.stored.run.manifest().is_of_same_run(other.stored.run.manifest())
            && baseline.stored.provenance == other.stored.provenance
    };
    match others.iter().find(is_same) {
        None => Ok(()),
        Some(other) => Err(Failure::usage(anyhow!(
            "{} and {} are of the same run, which began at {}: name the file of another run, or make one with `plimsoll run PLAN`",
            baseline.name,
            other.name,
            baseline.stored.run.manifest().started_at,
        ))),
    }
}

fn shown_side(opened: &Opened) -> summary::Side<'_> {
    let Opened { name, stored: StoredRun { run, workload, .. } } = opened;
    summary::Side { name, run, workload }
}
