//! `plimsoll ab`: pairs of runs of two arms, in random order, until it is decided whether the second is worse; or pairs
//! that were made before, judged.

use crate::arguments::AbArguments;
use crate::experiment::calibration::options;
use crate::experiment::session::{self, summary};
use crate::experiment::{bisect, definition, given, visible};
use crate::failure::CommandResult;
use crate::outputs;
use crate::signals::Listener;

pub(crate) fn ab(arguments: &AbArguments) -> CommandResult<u8> {
    if !arguments.from.is_empty() {
        return given::from_files(arguments);
    }
    if let Some(folder) = &arguments.judge {
        return given::again(folder, arguments);
    }
    if arguments.bisect {
        return Ok(bisect::step(arguments));
    }
    let listener = Listener::start()?;
    let experiment = definition::read(arguments)?;
    let options = options(arguments, &experiment)?;
    visible::announce(&experiment, options.calibration.as_ref());
    let made = session::run(&listener, &experiment, &options)?;
    let summary = summary(&made.record, made.judgement);
    outputs::write_experiment(&summary, &arguments.outputs, &outputs::PreopenedReports::default())?;
    Ok(outputs::exit_code(summary.judgement.verdict, arguments.outputs.inconclusive))
}
