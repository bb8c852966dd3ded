//! `plimsoll report`: judge a run file again, with the rules of today, and render its reports. Nothing is written to the
//! run file.

use conduct::failure::CommandResult;

use crate::arguments::ReportArguments;
use crate::reported;

pub(crate) fn report(arguments: &ReportArguments) -> CommandResult<u8> {
    reported::report(&arguments.file, &arguments.objectives, &arguments.outputs)
}
