//! `plimsoll ab`: pairs of runs of two arms, in random order, until it is decided whether the second is worse; or pairs
//! that were made before, judged.

use crate::arguments::AbArguments;
use crate::experiment::{definition, given, session};
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
    let listener = Listener::start()?;
    let experiment = definition::read(arguments)?;
    let summary = session::run(&listener, &experiment, arguments)?;
    outputs::write_experiment(&summary, &arguments.outputs, &outputs::PreopenedReports::default())?;
    Ok(outputs::exit_code(summary.judgement.verdict, arguments.outputs.inconclusive))
}
