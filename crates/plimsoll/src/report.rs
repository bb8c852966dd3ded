//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports.

use crate::arguments::ReportArguments;
use crate::failure::Outcome;
use crate::{judged, outputs};

pub(crate) fn report(arguments: &ReportArguments) -> Outcome<u8> {
    let judged = judged::judge_file(&arguments.file)?;
    let file = arguments.file.display().to_string();
    let summary = judged.summary.with_files(&[("evidence", &file)]);
    outputs::write(&summary, &arguments.outputs)?;
    Ok(judge::exit_code(judged.judgement.verdict))
}
