//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports. Nothing is written to the
//! run file.

use archive::Readable;

use crate::arguments::ReportArguments;
use crate::confine::Reach;
use crate::failure::{CommandResult, Failure};
use crate::outputs::PreopenedReports;
use crate::{judged, outputs};

pub(crate) fn report(arguments: &ReportArguments) -> CommandResult<u8> {
    let source = Readable::at(&arguments.file).map_err(Failure::usage)?;
    let opened = PreopenedReports::all(arguments.outputs.named())?;
    Reach::default().run_file(&source).confine();
    let judged = judged::judge(source)?;
    let file = arguments.file.display().to_string();
    let summary = judged.summary.with_files(&[("evidence", &file)]);
    outputs::write(&summary, &arguments.outputs, &opened)?;
    Ok(judge::exit_code(judged.judgement.verdict))
}
