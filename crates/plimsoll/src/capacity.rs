//! `plimsoll capacity`: the highest load at which objectives hold, found by probes and shown with its interval; or the probes of
//! an earlier search, judged. Its parts: what is searched ([`definition`], [`range`]), what the generator can do ([`proof`]), each run
//! ([`probe`]), all of them ([`session`]), their list on disk ([`record`]), and that list read again ([`given`]).

mod definition;
mod given;
mod probe;
mod proof;
mod range;
mod record;
mod session;

use crate::arguments::CapacityArguments;
use crate::failure::CommandResult;
use crate::outputs;
use crate::signals::Listener;

pub(crate) fn capacity(arguments: &CapacityArguments) -> CommandResult<u8> {
    if let Some(folder) = &arguments.judge {
        return given::again(folder, arguments);
    }
    let listener = Listener::start()?;
    let experiment = definition::read(arguments)?;
    let summary = session::run(&listener, &experiment, arguments)?;
    outputs::write_capacity(&summary, &arguments.outputs, &outputs::PreopenedReports::default())?;
    Ok(outputs::exit_code(summary.judgement.verdict, arguments.outputs.inconclusive))
}
