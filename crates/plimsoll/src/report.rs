//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports. Nothing is written to the
//! run file.

use ::report::{Background, Summary, VerdictCard};
use conduct::failure::{CommandResult, Failure};

use crate::arguments::ReportArguments;
use crate::outputs::PreopenedReports;
use crate::picture::PictureForm;
use crate::reported;

pub(crate) fn report(arguments: &ReportArguments) -> CommandResult<u8> {
    let ReportArguments { file, objectives, card, dark, outputs } = arguments;
    let background = if *dark { Background::Dark } else { Background::White };
    let write = |summary: &Summary, opened: &PreopenedReports| {
        let Some(path) = card else { return Ok(()) };
        let verdict_card = VerdictCard::new(summary);
        match PictureForm::parse(path).map_err(Failure::usage)? {
            Some(form) => opened.put_bytes(path, &form.bytes(verdict_card.svg(background))?),
            None => opened.put(path, &verdict_card.markdown()),
        }
    };
    reported::report_with(file, objectives, outputs, card.as_deref(), write)
}
