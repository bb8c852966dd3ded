//! What a command line is completed by, which of it is refused, and what is shown of it before the load.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::anyhow;
use evidence::TerminalText;

use super::LoadedScript;
use crate::arguments::ScriptArguments;
use crate::failure::{CommandResult, Failure};
use crate::outputs;

/// k6's exit code for a command line of which it refuses something.
const REFUSED: u8 = 255;

/// Something that a command line asks for and that cannot be had.
pub(super) fn refused(why: impl std::fmt::Display) -> Failure {
    Failure::Script { code: REFUSED, error: anyhow!("{why}") }
}

/// Complete flags by variables, and refuse or note those that have no effect.
pub(super) fn accept(arguments: &mut ScriptArguments) -> CommandResult<()> {
    let variables: BTreeMap<String, String> = std::env::vars().collect();
    if arguments.script.extension().is_some_and(|ending| ending == "tar") {
        let script = arguments.script.display();
        return Err(refused(format_args!("{script}: archives are not read: unpack it and run its script")));
    }
    if let Some(why) = arguments.foreign.refusal(&variables) {
        return Err(refused(why));
    }
    arguments.foreign.notes().iter().for_each(outputs::note);
    arguments.complete(&variables).map_err(refused)
}

/// What k6 shows of the load before it begins, unless standard output is for something else.
pub(super) fn show_header(arguments: &ScriptArguments, loaded: &LoadedScript) -> CommandResult<()> {
    if arguments.quiet || arguments.outputs.named().contains(&Some(Path::new("-"))) {
        return Ok(());
    }
    let mut text = TerminalText::default();
    let outputs = k6::outputs::described(&loaded.value_targets);
    let script = arguments.script.display();
    let execution = match (&arguments.workers.workers, arguments.workers.addresses.len()) {
        (Some(count), _) => format!("{count} workers of this machine"),
        (None, 0) => "local".to_owned(),
        (None, count) => format!("{count} workers"),
    };
    let head =
        format!("     execution: {execution}\n        script: {script}\n        output: {outputs}\n\n");
    text.quote("", &format!("\n{head}{}\n", loaded.options.header().join("\n")));
    outputs::print(&text)
}
