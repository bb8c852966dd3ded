//! `plimsoll diagnose`: what limits a service, from a run file, from the folder of a capacity search, or from levels of load that are
//! arranged for it; and whether more of the limit moves the break.

mod raised;

use std::path::Path;

use ::report::Detail;
use ::report::diagnosis::DiagnosisSummary;
use anyhow::{Context, anyhow};
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};
use conduct::judged::{self, StoredRun};
use conduct::signals::Listener;
use conduct::untrusted::UntrustedRunFiles;
use evidence::ExperimentEnd;
use evidence::capacity::CapacityJudgement;
use evidence::diagnosis::Diagnosis;
use experiments::record::{self, Record};
use experiments::search::confirmation::{self, Confirming};
use experiments::search::{self, Search};
use experiments::session::{self, SessionOptions};

use crate::arguments::DiagnoseArguments;
use crate::capacity::definition;
use crate::outputs::{self, PreopenedReports};

pub(crate) fn diagnose(arguments: &DiagnoseArguments) -> CommandResult<u8> {
    let subject = &arguments.subject;
    let (summary, reports) = match file_kind::at(subject) {
        Some(FileKind::RunFile) => of_run(arguments)?,
        _ if subject.join(experiments::record::FILE).exists() => of_search(arguments)?,
        _ => (of_levels(arguments)?, PreopenedReports::default()),
    };
    outputs::write(&summary, &arguments.outputs, Detail::Full, &reports)?;
    Ok(outputs::exit_code(summary.verdict, arguments.outputs.on_inconclusive()))
}

fn named(arguments: &DiagnoseArguments) -> CommandResult<PreopenedReports> {
    PreopenedReports::all(arguments.outputs.files.named())
}

fn of_run(arguments: &DiagnoseArguments) -> CommandResult<(DiagnosisSummary, PreopenedReports)> {
    refuse_load_options(arguments, "a run file")?;
    let path: &Path = &arguments.subject;
    UntrustedRunFiles::check([path])?;
    let opened = named(arguments)?;
    let received = UntrustedRunFiles::at([path])?;
    received.reach().confine();
    let StoredRun { run, mut workload, provenance } = StoredRun::judge(received.read_one()?)?;
    let more = plans::asked(&workload, &arguments.objectives).map_err(Failure::usage)?;
    workload.objectives.extend(more);
    let diagnosis = judged::diagnosis(&run, &workload, provenance)?;
    Ok((DiagnosisSummary::new(workload.name, path.display().to_string(), diagnosis), opened))
}

fn of_search(arguments: &DiagnoseArguments) -> CommandResult<(DiagnosisSummary, PreopenedReports)> {
    refuse_load_options(arguments, "the folder of a search")?;
    if !arguments.objectives.is_empty() {
        return Err(Failure::usage(anyhow!(
            "a search was judged by its own objectives: leave out --objective"
        )));
    }
    if record::kind(&arguments.subject)?.as_deref() == Some(confirmation::KIND) {
        let record = Record::<Confirming>::read(&arguments.subject)?;
        let opened = named(arguments)?;
        return Ok((record.judged_again(&arguments.subject)?, opened));
    }
    let record = Record::<Search>::read(&arguments.subject)?;
    let opened = named(arguments)?;
    let summary = record.judged_again(&arguments.subject)?;
    let source = format!("{} probes of {}", summary.runs.len(), arguments.subject.display());
    let diagnosis = diagnosis_of(summary.judgement)?;
    Ok((DiagnosisSummary::new(summary.name, source, diagnosis), opened))
}

fn of_levels(arguments: &DiagnoseArguments) -> CommandResult<DiagnosisSummary> {
    let listener = Listener::start()?;
    let drafts = tempfile::tempdir().context("no temporary folder can be made").map_err(Failure::own)?;
    let experiment = definition::for_diagnosis(arguments, drafts.path())?;
    let raised = raised::arm(&experiment.arm, &arguments.confirm)?;
    let search = search::prepared(experiment)?;
    let options = SessionOptions {
        resume: None,
        folder: arguments.output.clone(),
        loops: arguments.slots.loops,
        progress: conduct::run_request::Progress::unless(arguments.slots.quiet),
    };
    let made = session::run::<Search>(&listener, &search, &options)?;
    let summary = made.summary();
    let source = format!("{} levels of load", summary.runs.len());
    if let Some(raised) = &raised
        && let Some(confirmation) = confirmation::prepared(&made, &search.subject, raised, &source)?
    {
        let folder = options.folder.map(|folder| folder.with_extension(confirmation::KIND));
        let options = SessionOptions { folder, ..options };
        return Ok(session::run::<Confirming>(&listener, &confirmation, &options)?.summary());
    }
    let diagnosis = diagnosis_of(summary.judgement)?;
    Ok(DiagnosisSummary::new(summary.name, source, diagnosis))
}

fn diagnosis_of(judgement: CapacityJudgement) -> CommandResult<Diagnosis> {
    if let ExperimentEnd::Broken(why) = judgement.end {
        return Ok(Diagnosis::refused(why));
    }
    judgement.diagnosis.ok_or_else(|| {
        Failure::usage(anyhow!("no level of this search is shown to hold, or none to break: search further"))
    })
}

/// What offers a load makes no sense with evidence that is there.
fn refuse_load_options(arguments: &DiagnoseArguments, what: &str) -> CommandResult<()> {
    let DiagnoseArguments { start, confirm, reset, step, budget, output, .. } = arguments;
    let options = [
        ("--start", start.is_some()),
        ("--confirm", !confirm.is_empty()),
        ("--reset", reset.is_some()),
        ("--step", step.is_some()),
        ("--budget", budget.is_some()),
        ("--output", output.is_some()),
    ];
    match options.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => {
            Err(Failure::usage(anyhow!("{option} is for a load that is offered, and {what} has its load")))
        }
        None => Ok(()),
    }
}
