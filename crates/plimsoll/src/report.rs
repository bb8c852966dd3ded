//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports. Nothing is written to the
//! run file.

use std::path::Path;

use ::report::Summary;
use ::report::summary::RunEndState;
use conduct::failure::CommandResult;
use conduct::judged;
use conduct::screen;
use conduct::untrusted::UntrustedRunFiles;
use evidence::{Judgement, Verdict};

use crate::arguments::OutputArguments;
use crate::outputs::{self, PreopenedReports, ReportOptions};

/// Judge it again, with the rules of today and by these objectives too, and write its reports; the verdict's exit code.
pub(crate) fn report(path: &Path, objectives: &[String], asked: &OutputArguments) -> CommandResult<u8> {
    UntrustedRunFiles::check([path])?;
    let opened = PreopenedReports::all(asked.named())?;
    let received = UntrustedRunFiles::at([path])?;
    received.reach().confine();
    let judged = judged::judge_by(received.read_one()?, objectives)?;
    let summary = asked.reported(judged.summary, &asked.files(Some(path)));
    let is_as_in_k6 = asked.reports.inconclusive.is_none() && ends_with_0_in_k6(&summary, &judged.judgement);
    let mut options = ReportOptions::from(&asked.reports);
    if is_as_in_k6 {
        options = options.ending_with(0);
    }
    outputs::write(&summary, options, asked.detail(), &opened)?;
    outputs::write_card(&summary, asked, &opened)?;
    if is_as_in_k6 {
        screen::note(outputs::OF_K6);
        return Ok(0);
    }
    Ok(outputs::exit_code(judged.judgement.verdict, asked.reports.on_inconclusive()))
}

/// Whether this is the INCONCLUSIVE run of a script that ended with k6's exit code 0.
fn ends_with_0_in_k6(summary: &Summary, judgement: &Judgement) -> bool {
    // One that was cut short ended with another code of k6.
    let is_whole_script = summary.beside_k6.is_some() && summary.header.end == RunEndState::Completed;
    let is_crossed = judgement.claims.iter().any(|claim| claim.holds_in_k6 == Some(false));
    is_whole_script && judgement.verdict == Verdict::Inconclusive && !is_crossed
}
