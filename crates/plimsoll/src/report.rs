//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports. Nothing is written to the
//! run file.

use std::path::Path;

use ::report::summary::RunEndState;
use conduct::failure::CommandResult;
use conduct::judged;
use conduct::screen;
use conduct::untrusted::UntrustedRunFiles;
use evidence::Verdict;

use crate::arguments::OutputArguments;
use crate::outputs::{self, PreopenedReports};

/// Judge it again, with the rules of today and by these objectives too, and write its reports; the verdict's exit code.
pub(crate) fn report(path: &Path, objectives: &[String], asked: &OutputArguments) -> CommandResult<u8> {
    UntrustedRunFiles::check([path])?;
    let opened = PreopenedReports::all(asked.named())?;
    let received = UntrustedRunFiles::at([path])?;
    received.reach().confine();
    let judged = judged::judge_by(received.read_one()?, objectives)?;
    let summary = asked.reported(judged.summary, &asked.files(Some(path)));
    outputs::write(&summary, &asked.reports, asked.detail(), &opened)?;
    outputs::write_card(&summary, asked, &opened)?;
    // One that was cut short ended with another code of k6.
    let is_whole_script = summary.beside_k6.is_some() && summary.header.end == RunEndState::Completed;
    let is_undecided = judged.judgement.verdict == Verdict::Inconclusive;
    let is_crossed = judged.judgement.claims.iter().any(|claim| claim.holds_in_k6 == Some(false));
    if is_whole_script && is_undecided && !is_crossed && asked.reports.inconclusive.is_none() {
        screen::note(outputs::OF_K6);
        return Ok(0);
    }
    Ok(outputs::exit_code(judged.judgement.verdict, asked.reports.on_inconclusive()))
}
