//! The probes of an earlier search, judged again. They may come from others.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use archive::Stored;
use evidence::Run as _;
use evidence::capacity::{ProbeStage, SearchEnd};
use judge::capacity::judge_capacity;

use super::record::Record;
use super::session::{measured, overload, summary};
use crate::arguments::CapacityArguments;
use crate::failure::{CommandResult, Failure};
use crate::judged::StoredRun;
use crate::outputs::{self, PreopenedReports};
use crate::received::Received;

/// Judge the search in `folder` again.
pub(super) fn again(folder: &Path, arguments: &CapacityArguments) -> CommandResult<u8> {
    let mut record = Record::read(folder)?;
    record.search.at_least = arguments.search.at_least.or(record.search.at_least);
    let outputs = &arguments.outputs;
    let reports = PreopenedReports::all(
        [&outputs.html, &outputs.md, &outputs.json, &outputs.junit].map(Option::as_deref),
    )?;
    let files: Vec<PathBuf> = record.runs.iter().map(|run| folder.join(&run.file)).collect();
    let runs = read(&files)?;
    let (mut probes, mut beyond) = (Vec::new(), None);
    for (run, stored) in record.runs.iter().zip(&runs) {
        if stored.run.digest().unwrap_or_default() != run.digest {
            return Err(Failure::usage(anyhow!(
                "{} is not the run that was recorded: its digest differs",
                folder.join(&run.file).display()
            )));
        }
        probes.push(measured(&record, run, stored)?);
        if run.stage == ProbeStage::Overload {
            beyond = Some(overload(&record, &probes, stored)?);
        }
    }
    let end = record.end.clone().unwrap_or(SearchEnd::Interrupted);
    let judgement = judge_capacity(&record.rules(), probes, beyond, end);
    let summary = summary(&record, judgement);
    outputs::write_capacity(&summary, outputs, &reports)?;
    Ok(outputs::exit_code(summary.judgement.verdict, outputs.inconclusive))
}

/// Read run files; from then on the command can do nothing else.
fn read(files: &[PathBuf]) -> CommandResult<Vec<StoredRun>> {
    let paths = || files.iter().map(PathBuf::as_path);
    Received::check(paths())?;
    let received = Received::at(paths())?;
    received.reach().confine();
    received.read()?.into_iter().map(|run: Stored| StoredRun::of(run)).collect()
}
