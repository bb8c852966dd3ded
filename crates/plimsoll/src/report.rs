//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports. Nothing is written to the
//! run file.

use ::report::{Background, Summary, VerdictCard};
use conduct::failure::CommandResult;

use crate::arguments::ReportArguments;
use crate::outputs::PreopenedReports;
use crate::reported;

pub(crate) fn report(arguments: &ReportArguments) -> CommandResult<u8> {
    let ReportArguments { file, objectives, card, dark, outputs } = arguments;
    let background = if *dark { Background::Dark } else { Background::White };
    let write = |summary: &Summary, opened: &PreopenedReports| {
        let Some(path) = card else { return Ok(()) };
        let of = VerdictCard::new(summary);
        let is_markdown = path.extension().is_some_and(|ending| ending == "md");
        opened.put(path, &if is_markdown { of.markdown() } else { of.svg(background) })
    };
    reported::report_with(file, objectives, outputs, card.as_deref(), write)
}
