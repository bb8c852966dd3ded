//! The probes of an earlier search, judged again. They may come from others.

use std::path::Path;

use evidence::capacity::{ProbeStage, SearchEnd};
use judge::capacity::judge_capacity;

use super::record::Record;
use super::session::{measured, overload, summary};
use crate::arguments::CapacityArguments;
use crate::experiment::list::{RunList as _, received};
use crate::failure::CommandResult;
use crate::outputs::{self, PreopenedReports};

/// Judge the search in `folder` again.
pub(super) fn again(folder: &Path, arguments: &CapacityArguments) -> CommandResult<u8> {
    let mut record = Record::read(folder)?;
    record.search.at_least = arguments.search.at_least.or(record.search.at_least);
    let outputs = &arguments.outputs;
    let reports = PreopenedReports::all(outputs.named())?;
    let runs = received(folder, &record.runs().collect::<Vec<_>>())?;
    let (mut probes, mut beyond) = (Vec::new(), None);
    for (run, stored) in record.runs.iter().zip(&runs) {
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
