//! The report of a run file that was written elsewhere.

use std::path::Path;

use conduct::failure::CommandResult;
use conduct::judged;
use conduct::received::Received;

use crate::arguments::OutputArguments;
use crate::outputs::{self, PreopenedReports};

/// Judge it again, with the rules of today and by these objectives too, and write its reports; the verdict's exit code.
pub(crate) fn report(path: &Path, objectives: &[String], asked: &OutputArguments) -> CommandResult<u8> {
    Received::check([path])?;
    let opened = PreopenedReports::all(asked.named())?;
    let received = Received::at([path])?;
    received.reach().confine();
    let judged = judged::judge_by(received.read_one()?, objectives)?;
    let file = path.display().to_string();
    let summary = asked.reported(judged.summary, &[("evidence", &file)]);
    outputs::write(&summary, &asked.reports.files, asked.detail(), &opened)?;
    Ok(outputs::exit_code(judged.judgement.verdict, asked.reports.inconclusive))
}
