//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports. Nothing is written to the
//! run file.

use crate::arguments::ReportArguments;
use crate::failure::CommandResult;
use crate::outputs::PreopenedReports;
use crate::received::Received;
use crate::{judged, outputs};

pub(crate) fn report(arguments: &ReportArguments) -> CommandResult<u8> {
    let path = arguments.file.as_path();
    Received::check([path])?;
    let opened = PreopenedReports::all(arguments.outputs.named())?;
    let received = Received::at([path])?;
    received.reach().confine();
    let judged = judged::judge(received.read_one()?)?;
    let file = arguments.file.display().to_string();
    let summary = judged.summary.with_files(&[("evidence", &file)]);
    outputs::write(&summary, &arguments.outputs, &opened)?;
    Ok(outputs::exit_code(judged.judgement.verdict, arguments.outputs.reports.inconclusive))
}
