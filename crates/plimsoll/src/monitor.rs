//! `plimsoll monitor`: processes or a plan's targets, watched without any load.

use conduct::failure::CommandResult;
use conduct::run_file::RunFilePolicy;
use conduct::screen;
use conduct::watched::{watch, watched};

use crate::arguments::MonitorArguments;

pub(crate) fn monitor(arguments: &MonitorArguments) -> CommandResult<u8> {
    let watched = watched(&arguments.subjects, arguments.plan.as_deref())?;
    // A plan's targets may start later.
    let watched = if arguments.plan.is_none() { watched.that_must_answer() } else { watched };
    let keep = arguments.output.as_deref().map_or(RunFilePolicy::ByName, RunFilePolicy::At);
    let file = watch(watched, arguments.length, keep)?;
    if let Some(path) = file.kept() {
        let path = path.display();
        screen::note(format_args!("the samples are in {path}; see `plimsoll report {path}`"));
    }
    Ok(0)
}
